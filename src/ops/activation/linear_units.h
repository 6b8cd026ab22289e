// SPDX-License-Identifier: Apache-2.0
// LeakyRelu, Elu and HardSwish, and their gradients.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

struct LeakyRelu {
  static constexpr OpInfo info = unary_info("LeakyRelu", narrowgauge::infer);
  double alpha = 0.01;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_TYPE
  NG_FORMULA(LeakyRelu, (T x), select(x < T(0), T(alpha) * x, x))
  Values gradient(Gradient& g) const;
};

struct LeakyReluGradient {
  static constexpr OpInfo info = activation_gradient_info("LeakyReluGradient", narrowgauge::infer);
  double alpha = 0.01;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_SHAPE
  NG_FORMULA(LeakyReluGradient, (T x, T dy), select(x < T(0), T(alpha) * dy, dy))
  Values gradient(Gradient& g) const;
};

// alpha (e^x - 1) for x < 0
struct Elu {
  static constexpr OpInfo info = unary_info("Elu", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_TYPE
  NG_FORMULA(Elu, (T x), select(x < T(0), T(alpha) * expm1(x), x))
  Values gradient(Gradient& g) const;
};

struct EluGradient {
  static constexpr OpInfo info = activation_gradient_info("EluGradient", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_SHAPE
  NG_FORMULA(EluGradient, (T x, T dy), select(x < T(0), T(alpha) * exp(x) * dy, dy))
  Values decompose(Rewriting& r) const;
};

// x max(0, min(1, x / 6 + 1 / 2))
struct HardSwish {
  static constexpr OpInfo info = unary_info("HardSwish", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(HardSwish, (T x), (x * unit_interval(x * T(1.0 / 6) + T(0.5))))
  Values gradient(Gradient& g) const;
};

struct HardSwishGradient {
  static constexpr OpInfo info = activation_gradient_info("HardSwishGradient", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(HardSwishGradient, (T x, T dy),
             (dy * select(x <= T(-3), T(0), select(x >= T(3), T(1), x* T(1.0 / 3) + T(0.5)))))
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
