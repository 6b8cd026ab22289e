// SPDX-License-Identifier: Apache-2.0
// Arithmetic with ONNX's broadcasting. Integers wrap around; x / 0 of integers is 0.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct Add {
  static constexpr OpInfo info = commutative(binary_info("Add", narrowgauge::infer, "T:number"));
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Add, (T a, T b), a + b)
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
};

struct Sub {
  static constexpr OpInfo info = binary_info("Sub", narrowgauge::infer, "T:number");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sub, (T a, T b), a - b)
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
};

struct Mul {
  static constexpr OpInfo info = commutative(binary_info("Mul", narrowgauge::infer, "T:number"));
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Mul, (T a, T b), (a * b))
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
};

struct Div {
  static constexpr OpInfo info = binary_info("Div", narrowgauge::infer, "T:number");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Div, (T a, T b), a / b)
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
};

struct Neg {
  static constexpr OpInfo info = unary_info("Neg", clear, "T:number");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Neg, (T x), -x)
  Values gradient(Gradient& g) const;
};

struct Abs {
  static constexpr OpInfo info = unary_info("Abs", clear, "T:number");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Abs, (T x), abs(x))
  Values gradient(Gradient& g) const;
};

struct Reciprocal {
  static constexpr OpInfo info = unary_info("Reciprocal", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Reciprocal, (T x), T(1) / x)
  Values gradient(Gradient& g) const;
};

struct Sqrt {
  static constexpr OpInfo info = unary_info("Sqrt", narrowgauge::infer);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sqrt, (T x), sqrt(x))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
