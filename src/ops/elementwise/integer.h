// SPDX-License-Identifier: Apache-2.0
// int64 for the formulas of elementwise ops, with a result for all operands: sums, differences and
// products wrap around, x / 0 is 0.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace narrowgauge {

struct Integer {
  std::int64_t value = 0;

  Integer() = default;
  explicit constexpr Integer(std::integral auto number)
      : value(static_cast<std::int64_t>(number)) {}
  auto operator<=>(const Integer&) const = default;

  friend Integer operator+(Integer a, Integer b) { return Integer(a.bits() + b.bits()); }
  friend Integer operator-(Integer a, Integer b) { return Integer(a.bits() - b.bits()); }
  friend Integer operator*(Integer a, Integer b) { return Integer(a.bits() * b.bits()); }
  friend Integer operator-(Integer a) { return Integer(0 - a.bits()); }
  friend Integer operator/(Integer a, Integer b) {
    if (b.value == 0) return Integer(0);
    return b.value == -1 ? -a : Integer(a.value / b.value);
  }
  friend Integer abs(Integer a) { return a.value < 0 ? -a : a; }
  // For negative exponents, the integer part of the fraction; 0 for base 0.
  friend Integer pow(Integer base, Integer exponent) {
    if (exponent.value < 0) {
      if (base.value == -1) return Integer(exponent.value % 2 == 0 ? 1 : -1);
      return Integer(base.value == 1 ? 1 : 0);
    }
    Integer power(1);
    for (std::int64_t rest = exponent.value; rest > 0; rest /= 2, base = base * base)
      if (rest % 2 == 1) power = power * base;
    return power;
  }

 private:
  std::uint64_t bits() const { return static_cast<std::uint64_t>(value); }
};

}  // namespace narrowgauge
