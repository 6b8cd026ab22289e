// SPDX-License-Identifier: Apache-2.0
// Powers, exponentials, logarithms and the trigonometric functions.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct Exp {
  static constexpr OpInfo info = unary_info("Exp", deny);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Exp, (T x), exp(x))
  Values gradient(Gradient& g) const;
};

struct Log {
  static constexpr OpInfo info = unary_info("Log", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Log, (T x), log(x))
  Values gradient(Gradient& g) const;
};

struct Sin {
  static constexpr OpInfo info = unary_info("Sin", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sin, (T x), sin(x))
  Values gradient(Gradient& g) const;
};

struct Cos {
  static constexpr OpInfo info = unary_info("Cos", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Cos, (T x), cos(x))
  Values gradient(Gradient& g) const;
};

// x^y in the dtype of x.
struct Pow {
  static constexpr OpInfo info{.name = "Pow",
                               .inputs = "x:T, y:U",
                               .outputs = "z:T",
                               .types = "T:number, U:number",
                               .precision = deny,
                               .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  TensorTypes infer(const Inference& in) const { return elementwise_types(in, in.dtype(0)); }
  NG_FORMULA(Pow, (T x, T y), pow(x, y))
  Values gradient(Gradient& g) const;
};

// dz y x^(y-1), and 0 where y is 0.
struct PowGradientBase {
  static constexpr OpInfo info =
      activation_gradient_info("PowGradientBase", deny, "x:T, y:T, dz:T");
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(PowGradientBase, (T x, T y, T dz), select(y == T(0), T(0), dz*(y* pow(x, y - T(1)))))
  Values decompose(Rewriting& r) const;
};

// dz z log(x), and 0 where z is 0.
struct PowGradientExponent {
  static constexpr OpInfo info =
      activation_gradient_info("PowGradientExponent", deny, "x:T, z:T, dz:T");
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(PowGradientExponent, (T x, T z, T dz), select(z == T(0), T(0), dz*(z* log(x))))
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
