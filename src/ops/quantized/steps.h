// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear and QuantizeLinear with one scale inside of fused groups, where bytes are f32:
// whole numbers of steps.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// (x - zero) scale
struct FromSteps {
  static constexpr OpInfo info{.name = "FromSteps",
                               .domain = "ng",
                               .inputs = "x:T!",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = Fusion::elementwise,
                               .stage = Stage::precise};
  double scale = 1, zero = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("scale", self.scale);
    visit("zero", self.zero);
  }
  NG_SAME_TYPE
  NG_FORMULA(FromSteps, (T x), (x - T(zero)) * T(scale))
};

// round(x / scale) + zero, halves to even, within [low, high]; NaN gives zero.
struct ToSteps {
  static constexpr OpInfo info{.name = "ToSteps",
                               .domain = "ng",
                               .inputs = "x:T!",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = Fusion::elementwise,
                               .stage = Stage::precise};
  double scale = 1, zero = 0, low = 0, high = 255;
  static void attributes(auto& self, auto&& visit) {
    visit("scale", self.scale);
    visit("zero", self.zero);
    visit("low", self.low);
    visit("high", self.high);
  }
  NG_SAME_TYPE
  NG_FORMULA(ToSteps, (T x), limited(nearbyint(x / T(scale))) + T(zero))

 private:
  template <class T>
  NG_INLINE T limited(T steps) const {
    const T number = select(steps == steps, steps, T(0));
    const T above = select(number < T(low - zero), T(low - zero), number);
    return select(above > T(high - zero), T(high - zero), above);
  }
};

}  // namespace narrowgauge
