// SPDX-License-Identifier: Apache-2.0
// The sums of tensor cores (Summation::truncated) over a whole fragment: operands are unpacked once
// and not for every product. Gives the bits of dot_product_add() for finite operands.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "narrowgauge/matrix_unit_arithmetic.h"
#include "narrowgauge/wmma/number.h"

namespace narrowgauge::wmma {
inline namespace on_host {

namespace product {

// Elements as significand * 2^(exponent - mantissa bits); zeros have an exponent below all others.
template <int Count>
struct Parts {
  std::array<int, Count> significand, exponent;
  bool is_finite = true;
};
inline constexpr int exponent_of_zero = -10000;

template <int Count, class Bits>
Parts<Count> take_apart(UnitFormat operand, const Bits& bits_at) {
  const FloatFormat format = float_format(operand);
  const int dropped = operand == UnitFormat::tf32 ? 13 : 0;
  const std::uint32_t one = 1U << format.mantissa_bits, fields = 1U << format.exponent_bits;
  Parts<Count> parts;
  for (int i = 0; i < Count; ++i) {
    const auto bits = static_cast<std::uint32_t>(bits_at(i)) >> dropped;
    const std::uint32_t mantissa = bits & (one - 1);
    const std::uint32_t field = bits >> format.mantissa_bits & (fields - 1);
    if (field == fields - 1) parts.is_finite = false;
    const int magnitude = static_cast<int>(field ? mantissa | one : mantissa);
    const bool is_negative = (bits >> format.mantissa_bits >> format.exponent_bits & 1) != 0;
    const auto place = static_cast<std::size_t>(i);
    parts.significand[place] = is_negative ? -magnitude : magnitude;
    parts.exponent[place] =
        magnitude ? static_cast<int>(field ? field : 1) - format.bias() : exponent_of_zero;
  }
  return parts;
}

// One line of a and one of b.
struct PartsOfLine {
  const int *a, *a_exponent, *b, *b_exponent;
};

class CutSums {
 public:
  explicit CutSums(const UnitModel& model)
      : model_(model),
        rounding_(matrix_unit_arithmetic::rounding_of(model.rounding)),
        raise_(model.fraction - 2 * float_format(model.operand).mantissa_bits) {}

  // Takes c, which is finite, and returns the result, both as bits of the model's result format.
  std::uint64_t operator()(const PartsOfLine& line, int depth, std::uint64_t c) const {
    for (int k = 0; k < depth; k += model_.terms) {
      const float start = model_.result == UnitFormat::f16
                              ? number::half_value(static_cast<std::uint16_t>(c))
                              : std::bit_cast<float>(static_cast<std::uint32_t>(c));
      if (!std::isfinite(start)) return c;
      c = operation(line, k, std::min(k + model_.terms, depth), start);
    }
    return c;
  }

 private:
  static constexpr int most_terms = 32;

  std::uint64_t operation(const PartsOfLine& line, int first, int last, float start) const {
    const auto c_bits = std::bit_cast<std::uint32_t>(start);
    const int c_field = static_cast<int>(c_bits >> 23 & 0xff);
    const auto c_magnitude =
        static_cast<std::int64_t>((c_bits & 0x7f'ffff) | (c_field ? 0x80'0000U : 0U));
    const int c_exponent = (c_field ? c_field : 1) - 127;
    int largest = model_.floor;
    if (c_magnitude) largest = std::max({largest, c_exponent, model_.c_floor});
    std::array<int, most_terms> exponents;
    for (int k = first; k < last; ++k) {
      const int exponent = line.a_exponent[k] + line.b_exponent[k];
      exponents[static_cast<std::size_t>(k - first)] = exponent;
      largest = std::max(largest, exponent);
    }
    std::int64_t sum = cut(c_magnitude << (model_.fraction - 23), largest - c_exponent);
    if (c_bits >> 31) sum = -sum;
    for (int k = first; k < last; ++k) {
      // At most 22 bits, raised by at most 11: there is room for the sum of all.
      const std::int64_t product = std::int64_t{line.a[k]} * line.b[k];
      const std::int64_t sign = product >> 63;
      const std::int64_t magnitude = ((product ^ sign) - sign) << raise_;
      const std::int64_t term =
          cut(magnitude, largest - exponents[static_cast<std::size_t>(k - first)]);
      sum += (term ^ sign) - sign;
    }
    return matrix_unit_arithmetic::rounded_sum(sum, largest - model_.fraction, rounding_);
  }
  static std::int64_t cut(std::int64_t magnitude, int places) {
    return magnitude >> std::clamp(places, 0, 63);  // below 0 where the magnitude is 0
  }

  UnitModel model_;
  matrix_unit_arithmetic::Rounding rounding_;
  int raise_;
};

}  // namespace product

}  // namespace on_host
}  // namespace narrowgauge::wmma
