// SPDX-License-Identifier: Apache-2.0
// Logic on bool tensors.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

constexpr OpInfo logic_info(std::string_view name) {
  OpInfo info = commutative(binary_info(name, {}, ""));
  info.inputs = "a:bool, b:bool";
  info.outputs = "y:bool";
  return info;
}

struct And {
  static constexpr OpInfo info = logic_info("And");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(And, (T a, T b), select(a == b, a, T(0)))
};

struct Or {
  static constexpr OpInfo info = logic_info("Or");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Or, (T a, T b), select(a == b, a, T(1)))
};

struct Xor {
  static constexpr OpInfo info = logic_info("Xor");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Xor, (T a, T b), select(a == b, T(0), T(1)))
};

struct Not {
  static constexpr OpInfo info{
      .name = "Not", .inputs = "x:bool", .outputs = "y:bool", .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_BOOL_RESULT
  NG_FORMULA(Not, (T x), T(1) - x)
};

}  // namespace narrowgauge
