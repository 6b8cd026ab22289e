// SPDX-License-Identifier: Apache-2.0
// Gelu and Erf, and their gradients.
#pragma once

#include <string>

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

namespace detail {

// x P(X <= x) for a normal X.
struct ExactGelu {
  template <class T>
  NG_INLINE T formula(T x) const {
    return x * normal_values(x).below;
  }
  template <class T>
  NG_INLINE T formula(T x, T dy) const {
    const NormalValues<T> normal = normal_values(x);
    return dy * (normal.below + x * (T(0.39894228040143267794) * normal.density));
  }
};

// x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
struct TanhGelu {
  static constexpr double scale = 1.59576912160573071176;  // 2 sqrt(2 / pi)
  static constexpr double cubic = 0.044715;
  template <class T>
  NG_INLINE T formula(T x) const {
    return x * sigmoid(T(scale) * x * (T(1) + T(cubic) * x * x));
  }
  // Beyond |x| = 20 the sigmoid is 0 or 1 in every format, and x^3 times its slope is 0.
  template <class T>
  NG_INLINE T formula(T x, T dy) const {
    const T c = select(x > T(20), T(20), select(x < T(-20), T(-20), x));
    const T argument = T(scale) * c * (T(1) + T(cubic) * c * c);
    const T inner_slope = T(scale) * (T(1) + T(3 * cubic) * c * c);
    return dy * (sigmoid(argument) + c * inner_slope * sigmoid_slope(argument));
  }
};

NG_INLINE void choose_gelu(const std::string& approximate, auto use) {
  if (approximate == "tanh")
    use(TanhGelu{});
  else
    use(ExactGelu{});
}

}  // namespace detail

// `approximate`: "none" or "tanh".
struct Gelu {
  static constexpr OpInfo info = unary_info("Gelu", narrowgauge::infer);
  std::string approximate = "none";
  static void attributes(auto& self, auto&& visit) { visit("approximate", self.approximate); }
  TensorTypes infer(const Inference& in) const;
  NG_INLINE void choose(auto use) const { detail::choose_gelu(approximate, use); }
  static Elementwise elementwise();
  static std::span<const Kernel> kernels() { return elementwise_kernels(); }
  Values gradient(Gradient& g) const;
};

struct GeluGradient {
  static constexpr OpInfo info = activation_gradient_info("GeluGradient", narrowgauge::infer);
  std::string approximate = "none";
  static void attributes(auto& self, auto&& visit) { visit("approximate", self.approximate); }
  TensorTypes infer(const Inference& in) const;
  NG_INLINE void choose(auto use) const { detail::choose_gelu(approximate, use); }
  static Elementwise elementwise();
  static std::span<const Kernel> kernels() { return elementwise_kernels(); }
  Values decompose(Rewriting& r) const;
};

struct Erf {
  static constexpr OpInfo info = unary_info("Erf", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Erf, (T x), erf(x))
  Values gradient(Gradient& g) const;
};

// 2 / sqrt(pi) e^(-x^2) dy
struct ErfGradient {
  static constexpr OpInfo info = activation_gradient_info("ErfGradient", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(ErfGradient, (T x, T dy), T(1.12837916709551257390) * exp(-x * x) * dy)
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
