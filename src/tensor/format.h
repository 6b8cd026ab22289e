// SPDX-License-Identifier: Apache-2.0
// The layout of each floating-point format, and rounding between layouts on integers alone: the
// result depends on neither the CPU's rounding mode nor its flushing of subnormals.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

// Infinities and NaN; one NaN pattern; neither; one NaN in the place of negative zero.
enum class Specials : std::uint8_t { ieee, nan, none, nan_for_negative_zero };

// A sign, exponent_bits, mantissa_bits; the exponent is biased by 2^(exponent_bits - 1) - 1, by one
// more where NaN is in the place of negative zero.
template <class Bits, int exponent, int mantissa, Specials specials = Specials::ieee>
struct Layout {
  using Storage = Bits;
  static constexpr int mantissa_bits = mantissa;
  static constexpr bool has_infinity = specials == Specials::ieee;
  static constexpr bool has_nan = specials != Specials::none;
  static constexpr bool has_negative_zero = specials != Specials::nan_for_negative_zero;
  static constexpr int smallest_exponent =  // of normal numbers
      (has_negative_zero ? 2 : 1) - (1 << (exponent - 1));
  static constexpr std::uint64_t sign = std::uint64_t{1} << (exponent + mantissa);
  static constexpr std::uint64_t implicit_one = std::uint64_t{1} << mantissa;
  static constexpr std::uint64_t all_exponent = sign - implicit_one;
  // The OCP 8-bit format E4M3 has one NaN pattern, all ones, and no infinity; in the 4-bit format
  // E2M1 all ones is the largest number, to which overflow and NaN go.
  static constexpr std::uint64_t infinite = has_infinity        ? all_exponent
                                            : has_negative_zero ? sign - 1
                                                                : sign;
  static constexpr std::uint64_t quiet_nan =
      has_infinity ? all_exponent | implicit_one >> 1 : infinite;
};

template <class T>
struct LayoutOf;
template <>
struct LayoutOf<double> : Layout<std::uint64_t, 11, 52> {};
template <>
struct LayoutOf<float> : Layout<std::uint32_t, 8, 23> {};
template <>
struct LayoutOf<f16> : Layout<std::uint16_t, 5, 10> {};
template <>
struct LayoutOf<bf16> : Layout<std::uint16_t, 8, 7> {};
template <>
struct LayoutOf<f8e4m3fn> : Layout<std::uint8_t, 4, 3, Specials::nan> {};
template <>
struct LayoutOf<f8e5m2> : Layout<std::uint8_t, 5, 2> {};
template <>
struct LayoutOf<f8e4m3fnuz> : Layout<std::uint8_t, 4, 3, Specials::nan_for_negative_zero> {};
template <>
struct LayoutOf<f8e5m2fnuz> : Layout<std::uint8_t, 5, 2, Specials::nan_for_negative_zero> {};
template <>
struct LayoutOf<f4e2m1> : Layout<std::uint8_t, 2, 1, Specials::none> {};

// significand / 2^shift to the nearest integer, ties to even; shift >= 0.
constexpr std::uint64_t shift_nearest_even(std::uint64_t significand, int shift) {
  if (shift == 0) return significand;
  if (shift > 63) return 0;  // significands have at most 53 bits
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t odd = significand >> shift & 1;
  return (significand + (half - 1) + odd) >> shift;
}

// The bits of a finite or infinite value of one layout, without the sign, in a narrower one.
// round(significand, shift) rounds significand / 2^shift.
template <class To, class From, class Round>
constexpr std::uint64_t narrow_magnitude(std::uint64_t magnitude, Round round) {
  if (magnitude == From::all_exponent) return To::infinite;
  const int field = std::max(static_cast<int>(magnitude >> From::mantissa_bits), 1);
  const int exponent = field - 1 + From::smallest_exponent;
  const bool normal = magnitude >= From::implicit_one;
  const std::uint64_t mantissa = magnitude & (From::implicit_one - 1);
  const int below = std::max(To::smallest_exponent - exponent, 0);  // steps into the subnormals
  const int above = std::max(exponent - To::smallest_exponent, 0);
  const int shift = From::mantissa_bits - To::mantissa_bits + below;
  const std::uint64_t rounded = round(normal ? mantissa | From::implicit_one : mantissa, shift);
  // The implicit one, and a carry out of the mantissa, count the exponent field up by one.
  const std::uint64_t result = (static_cast<std::uint64_t>(above) << To::mantissa_bits) + rounded;
  return std::min(result, To::infinite);
}

template <class To, class From, class Round>
constexpr typename To::Storage narrow_bits(typename From::Storage bits, Round round) {
  const std::uint64_t magnitude = bits & (From::sign - 1);
  const std::uint64_t sign = bits & From::sign ? To::sign : 0;
  if (magnitude > From::all_exponent) {
    if (!To::has_nan || !To::has_negative_zero)
      return static_cast<typename To::Storage>(To::quiet_nan);
    const std::uint64_t payload = magnitude >> (From::mantissa_bits - To::mantissa_bits);
    return static_cast<typename To::Storage>(sign | To::quiet_nan |
                                             (payload & (To::implicit_one - 1)));
  }
  const std::uint64_t narrow = narrow_magnitude<To, From>(magnitude, round);
  const bool unsigned_zero = narrow == 0 && !To::has_negative_zero;
  return static_cast<typename To::Storage>(unsigned_zero ? 0 : sign | narrow);
}

}  // namespace narrowgauge
