// SPDX-License-Identifier: Apache-2.0
// Remainders of divisions.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

namespace detail {

template <class T>
NG_INLINE T remainder(T a, T b, bool truncated) {
  const T rest = std::fmod(a, b);
  return select(!truncated && rest != T(0) && (rest < T(0)) != (b < T(0)), rest + b, rest);
}
// For b = 0 the quotient is 0, and so the remainder a.
NG_INLINE Integer remainder(Integer a, Integer b, bool truncated) {
  const Integer zero(0), rest = a - a / b * b;
  const bool other_sign = b != zero && rest != zero && (rest < zero) != (b < zero);
  return !truncated && other_sign ? rest + b : rest;
}

}  // namespace detail

// The remainder of a / b, with the sign of b, or with that of a if `fmod`. Floating values need
// `fmod`.
struct Mod {
  static constexpr OpInfo info = binary_info("Mod", narrowgauge::infer, "T:number");
  static constexpr bool on_integers = true;
  std::int64_t fmod = 0;
  static void attributes(auto& self, auto&& visit) { visit("fmod", self.fmod); }
  TensorTypes infer(const Inference& in) const;
  NG_FORMULA(Mod, (T a, T b), detail::remainder(a, b, fmod != 0))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
