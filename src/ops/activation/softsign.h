// SPDX-License-Identifier: Apache-2.0
// Softsign and its gradient.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

// x / (1 + |x|)
struct Softsign {
  static constexpr OpInfo info = unary_info("Softsign", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Softsign, (T x), x / (T(1) + abs(x)))
  Values gradient(Gradient& g) const;
};

// dy / (1 + |x|)^2
struct SoftsignGradient {
  static constexpr OpInfo info = activation_gradient_info("SoftsignGradient", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(SoftsignGradient, (T x, T dy), dy / ((T(1) + abs(x)) * (T(1) + abs(x))))
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
