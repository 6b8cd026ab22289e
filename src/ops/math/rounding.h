// SPDX-License-Identifier: Apache-2.0
// Ops that are constant almost everywhere: no gradient flows through them.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

constexpr OpInfo step_info(std::string_view name, std::string_view types) {
  OpInfo info = unary_info(name, clear, types);
  info.inputs = "x:T!";
  return info;
}

// -1, 0 or 1; NaN stays NaN.
struct Sign {
  static constexpr OpInfo info = step_info("Sign", "T:number");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sign, (T x), select(x > T(0), T(1), select(x < T(0), T(-1), x* T(0))))
};

struct Floor {
  static constexpr OpInfo info = step_info("Floor", "T:float");
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Floor, (T x), floor(x))
};

struct Ceil {
  static constexpr OpInfo info = step_info("Ceil", "T:float");
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Ceil, (T x), ceil(x))
};

// Rounds to the nearest whole number, halves to the even one.
struct Round {
  static constexpr OpInfo info = step_info("Round", "T:float");
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Round, (T x), nearbyint(x))
};

}  // namespace narrowgauge
