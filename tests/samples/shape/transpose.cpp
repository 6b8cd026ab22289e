// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/transpose.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Transpose>> transpose_samples() {
  return {{{}, {sample("f32[3,5]")}},
          {{}, {sample("f32[]")}},
          {{{0, 2, 1, 3}}, {sample("f32[2,3,4,5]")}},
          {{{0, 3, 1, 2}}, {sample("f32[2,9,1,17]")}},
          {{{2, 0, 1}}, {sample("f32[1,4,1]")}},
          {{{1, 0, 2}}, {sample("f32[3,0,2]")}},
          {{{1, 0}}, {sample("i64[4,3]", -9, 9)}},
          {{{1, 0}}, {sample("bool[4,3]", 0, 1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(transpose, transpose_samples())
