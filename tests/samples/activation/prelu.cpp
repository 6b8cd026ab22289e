// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/prelu.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<PRelu>> prelu_samples() {
  return {{{}, {sample("f32[2,3,5]"), sample("f32[2,3,5]")}},
          {{}, {sample("f32[2,3,4,5]"), sample("f32[3,1,1]")}},
          {{}, {sample("f32[17]"), sample("f32[]")}},
          {{}, {sample("i64[9]", -9, 9), sample("i64[1]", -3, 3)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(prelu, prelu_samples())
