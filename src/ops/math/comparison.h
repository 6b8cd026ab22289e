// SPDX-License-Identifier: Apache-2.0
// Comparisons and tests of values: bool results, no gradient.
#pragma once

#include <limits>

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

constexpr OpInfo comparison_info(std::string_view name, std::string_view types = "T:number") {
  OpInfo info = binary_info(name, clear, types);
  info.inputs = "a:T!, b:T!";
  info.outputs = "y:bool";
  return info;
}
constexpr OpInfo test_info(std::string_view name) {
  OpInfo info = unary_info(name, clear);
  info.inputs = "x:T!";
  info.outputs = "y:bool";
  return info;
}

struct Equal {
  static constexpr OpInfo info = commutative(comparison_info("Equal", ""));
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Equal, (T a, T b), select(a == b, T(1), T(0)))
};

struct Greater {
  static constexpr OpInfo info = comparison_info("Greater");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Greater, (T a, T b), select(a > b, T(1), T(0)))
};

struct GreaterOrEqual {
  static constexpr OpInfo info = comparison_info("GreaterOrEqual");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(GreaterOrEqual, (T a, T b), select(a >= b, T(1), T(0)))
};

struct Less {
  static constexpr OpInfo info = comparison_info("Less");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Less, (T a, T b), select(a < b, T(1), T(0)))
};

struct LessOrEqual {
  static constexpr OpInfo info = comparison_info("LessOrEqual");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(LessOrEqual, (T a, T b), select(a <= b, T(1), T(0)))
};

struct IsNaN {
  static constexpr OpInfo info = test_info("IsNaN");
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(IsNaN, (T x), select(x != x, T(1), T(0)))
};

struct IsInf {
  static constexpr OpInfo info = test_info("IsInf");
  std::int64_t detect_negative = 1, detect_positive = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("detect_negative", self.detect_negative);
    visit("detect_positive", self.detect_positive);
  }
  NG_BOOL_RESULT
  NG_FORMULA(IsInf, (T x),
             select(x > std::numeric_limits<T>::max(), T(detect_positive != 0),
                    select(x < -std::numeric_limits<T>::max(), T(detect_negative != 0), T(0))))
};

}  // namespace narrowgauge
