// SPDX-License-Identifier: Apache-2.0
// Tangent, the inverse trigonometric functions, and the hyperbolic functions with their inverses.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct Tan {
  static constexpr OpInfo info = unary_info("Tan", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Tan, (T x), std::tan(x))
  Values gradient(Gradient& g) const;
};

struct Asin {
  static constexpr OpInfo info = unary_info("Asin", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Asin, (T x), std::asin(x))
  Values gradient(Gradient& g) const;
};

struct Acos {
  static constexpr OpInfo info = unary_info("Acos", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Acos, (T x), std::acos(x))
  Values gradient(Gradient& g) const;
};

struct Atan {
  static constexpr OpInfo info = unary_info("Atan", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Atan, (T x), std::atan(x))
  Values gradient(Gradient& g) const;
};

struct Sinh {
  static constexpr OpInfo info = unary_info("Sinh", deny);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sinh, (T x), std::sinh(x))
  Values gradient(Gradient& g) const;
};

struct Cosh {
  static constexpr OpInfo info = unary_info("Cosh", deny);
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Cosh, (T x), std::cosh(x))
  Values gradient(Gradient& g) const;
};

struct Asinh {
  static constexpr OpInfo info = unary_info("Asinh", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Asinh, (T x), std::asinh(x))
  Values gradient(Gradient& g) const;
};

struct Acosh {
  static constexpr OpInfo info = unary_info("Acosh", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Acosh, (T x), std::acosh(x))
  Values gradient(Gradient& g) const;
};

struct Atanh {
  static constexpr OpInfo info = unary_info("Atanh", {});
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Atanh, (T x), std::atanh(x))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
