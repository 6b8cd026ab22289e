// SPDX-License-Identifier: Apache-2.0
// Whole numbers for the formulas of elementwise ops, with a result for all operands: x / 0 is 0.
// Sums and differences of i64 and u64 are exact, and products modulo 2^128, so that cutting a
// result to the bits of its dtype makes it wrap around.
#pragma once

#include <compare>
#include <cstdint>

#include "narrowgauge/dtype.h"
#include "tensor/wide_product.h"

namespace narrowgauge {

struct Integer {
  WideInteger value = 0;

  Integer() = default;
  explicit constexpr Integer(WideInteger number) : value(number) {}
  auto operator<=>(const Integer&) const = default;

  friend Integer operator+(Integer a, Integer b) { return Integer(a.value + b.value); }
  friend Integer operator-(Integer a, Integer b) { return Integer(a.value - b.value); }
  friend Integer operator*(Integer a, Integer b) { return Integer(wide_product(a.value, b.value)); }
  friend Integer operator-(Integer a) { return Integer(-a.value); }
  friend Integer operator/(Integer a, Integer b) {
    return Integer(b.value == 0 ? 0 : a.value / b.value);
  }
  friend Integer abs(Integer a) { return a.value < 0 ? -a : a; }
  // The power: for negative exponents the integer part of the fraction, with 0 for base 0; for
  // positive ones the low 64 bits.
  friend Integer pow(Integer base, Integer exponent) {
    if (exponent.value < 0) {
      if (base.value == -1) return Integer(exponent.value % 2 == 0 ? 1 : -1);
      return Integer(base.value == 1 ? 1 : 0);
    }
    std::uint64_t power = 1;
    auto factor = static_cast<std::uint64_t>(base.value);
    for (WideInteger rest = exponent.value; rest > 0; rest /= 2, factor *= factor)
      if (rest % 2 == 1) power *= factor;
    return Integer(power);
  }
};

}  // namespace narrowgauge
