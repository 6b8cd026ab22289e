// SPDX-License-Identifier: Apache-2.0
// Units that pass on what lies beyond a threshold.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// x + bias for x < -lambd, x - bias for x > lambd, else 0
struct Shrink {
  static constexpr OpInfo info = unary_info("Shrink", clear);
  double bias = 0, lambd = 0.5;
  static void attributes(auto& self, auto&& visit) {
    visit("bias", self.bias);
    visit("lambd", self.lambd);
  }
  NG_SAME_TYPE
  NG_FORMULA(Shrink, (T x),
             select(x < T(-lambd), x + T(bias), select(x > T(lambd), x - T(bias), T(0))))
  Values gradient(Gradient& g) const;
};

// x for x > alpha, else 0
struct ThresholdedRelu {
  static constexpr OpInfo info = unary_info("ThresholdedRelu", clear);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_TYPE
  NG_FORMULA(ThresholdedRelu, (T x), select(x > T(alpha), x, T(0)))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
