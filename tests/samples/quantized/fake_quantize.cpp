// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/fake_quantize.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

// Values lie beyond the ends of the grid, where finite differences see no steps, or on a grid as
// fine as their own.
std::vector<Sample<FakeQuantize>> fake_quantize_samples() {
  return {
      {{}, {sample("f32[2,3,5]", 3, 9), sample("f32[]", 0.01, 0.01), sample("u8[]", 7, 7)}},
      {{.axis = 0},
       {sample("f32[3,2,4]", -9, -5), sample("f32[3]", 0.01, 0.02), sample("i8[3]", 0, 0)}},
      {{.axis = -1},
       {sample("f32[2,3]", 4, 9), sample("f32[3]", 0.01, 0.01), sample("i8[3]", 1, 3)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(fake_quantize, fake_quantize_samples())
