// SPDX-License-Identifier: Apache-2.0
// Celu (Barron, "Continuously differentiable exponential linear units", 2017) and Selu (Klambauer
// et al., "Self-normalizing neural networks", 2017).
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// alpha (e^(x / alpha) - 1) for x < 0
struct Celu {
  static constexpr OpInfo info = unary_info("Celu", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_TYPE
  NG_FORMULA(Celu, (T x), select(x < T(0), T(alpha) * expm1(x / T(alpha)), x))
  Values gradient(Gradient& g) const;
};

// gamma x, for x <= 0 gamma alpha (e^x - 1)
struct Selu {
  static constexpr OpInfo info = unary_info("Selu", narrowgauge::infer);
  double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("gamma", self.gamma);
  }
  NG_SAME_TYPE
  NG_FORMULA(Selu, (T x), (T(gamma) * select(x <= T(0), T(alpha) * expm1(x), x)))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
