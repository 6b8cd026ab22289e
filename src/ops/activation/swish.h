// SPDX-License-Identifier: Apache-2.0
// Swish (SiLU for alpha = 1) and Mish, and their gradients.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

// x sigmoid(alpha x)
struct Swish {
  static constexpr OpInfo info = unary_info("Swish", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_TYPE
  NG_FORMULA(Swish, (T x), (x * sigmoid(T(alpha) * x)))
  Values gradient(Gradient& g) const;
};

struct SwishGradient {
  static constexpr OpInfo info = activation_gradient_info("SwishGradient", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_SHAPE
  NG_FORMULA(SwishGradient, (T x, T dy),
             (dy * (sigmoid(T(alpha) * x) + T(alpha) * x * sigmoid_slope(T(alpha) * x))))
  Values decompose(Rewriting& r) const;
};

// x tanh(log(1 + e^x))
struct Mish {
  static constexpr OpInfo info = unary_info("Mish", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Mish, (T x), mish(x))
  Values gradient(Gradient& g) const;
};

struct MishGradient {
  static constexpr OpInfo info = activation_gradient_info("MishGradient", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(MishGradient, (T x, T dy), mish_slope(x) * dy)
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
