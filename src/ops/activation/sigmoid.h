// SPDX-License-Identifier: Apache-2.0
// Sigmoid, Tanh, Softplus and HardSigmoid, and their gradients.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

struct Sigmoid {
  static constexpr OpInfo info = unary_info("Sigmoid", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sigmoid, (T x), sigmoid(x))
  Values gradient(Gradient& g) const;
};

struct SigmoidGradient {
  static constexpr OpInfo info =
      activation_gradient_info("SigmoidGradient", narrowgauge::infer, "y:T, dy:T");
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(SigmoidGradient, (T y, T dy), (dy * y) * (T(1) - y))
  Values decompose(Rewriting& r) const;
};

struct Tanh {
  static constexpr OpInfo info = unary_info("Tanh", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Tanh, (T x), tanh(x))
  Values gradient(Gradient& g) const;
};

struct TanhGradient {
  static constexpr OpInfo info =
      activation_gradient_info("TanhGradient", narrowgauge::infer, "y:T, dy:T");
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(TanhGradient, (T y, T dy), (dy * (T(1) - y)) * (T(1) + y))
  Values decompose(Rewriting& r) const;
};

// log(1 + e^x)
struct Softplus {
  static constexpr OpInfo info = unary_info("Softplus", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Softplus, (T x), softplus(x))
  Values gradient(Gradient& g) const;
};

struct SoftplusGradient {
  static constexpr OpInfo info = activation_gradient_info("SoftplusGradient", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(SoftplusGradient, (T x, T dy), sigmoid(x) * dy)
  Values decompose(Rewriting& r) const;
};

// max(0, min(1, alpha x + beta))
struct HardSigmoid {
  static constexpr OpInfo info = unary_info("HardSigmoid", narrowgauge::infer);
  double alpha = 0.2, beta = 0.5;
  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
  }
  NG_SAME_TYPE
  NG_FORMULA(HardSigmoid, (T x), unit_interval(T(alpha) * x + T(beta)))
  Values gradient(Gradient& g) const;
};

struct HardSigmoidGradient {
  static constexpr OpInfo info =
      activation_gradient_info("HardSigmoidGradient", narrowgauge::infer);
  double alpha = 0.2, beta = 0.5;
  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
  }
  NG_SAME_SHAPE
  NG_FORMULA(HardSigmoidGradient, (T x, T dy),
             select(within_unit_interval(T(alpha) * x + T(beta)), T(alpha) * dy, T(0)))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
