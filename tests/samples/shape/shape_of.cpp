// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/shape_of.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ShapeOf>> shape_of_samples() {
  return {{{}, {sample("f32[2,3,5]")}},
          {{.start = 1}, {sample("f32[2,3,5]")}},
          {{.start = -2, .end = -1}, {sample("f32[2,3,5]")}},
          {{.start = 2, .end = 1}, {sample("i64[2,0,5]", -9, 9)}},
          {{.start = -9, .end = 9}, {sample("f32[7]")}}};
}

std::vector<Sample<SizeOf>> size_of_samples() {
  return {{{}, {sample("f32[2,3,5]")}}, {{}, {sample("f32[]")}}, {{}, {sample("i64[3,0]", 0, 1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(shape_of, shape_of_samples(), size_of_samples())
