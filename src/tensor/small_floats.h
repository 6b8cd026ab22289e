// SPDX-License-Identifier: Apache-2.0
// f32 to the formats of 8 and 4 bits for loops: the bits of narrow() in tensor/values.h, without
// branches, so that compilers vectorize it. The CPU must round to nearest; f32 subnormals are far
// below all of these formats, so flushing them changes nothing.
#pragma once

#include <bit>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge {
namespace detail {

// Magnitude bits of an 8-bit float with the given number of mantissa bits, as if its exponents had
// no end. Normal results: adding half a step less one, plus the last kept bit, carries where
// nearest even rounds up. Subnormal results: the adder rounds the sum with `magic`, whose last bit
// is the least subnormal.
template <int mantissa_bits, int bias>
constexpr std::uint32_t small_magnitude(std::uint32_t magnitude) {
  constexpr int dropped = 23 - mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - bias) << mantissa_bits;
  constexpr std::uint32_t least_normal = static_cast<std::uint32_t>(128 - bias) << 23;
  constexpr float magic =
      std::bit_cast<float>(static_cast<std::uint32_t>(127 + 23 + 1 - bias - mantissa_bits) << 23);
  const std::uint32_t rounded =
      magnitude + ((1U << (dropped - 1)) - 1) + (magnitude >> dropped & 1);
  const std::uint32_t normal = (rounded >> dropped) - rebias;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + magic) -
      std::bit_cast<std::uint32_t>(magic);
  return magnitude < least_normal ? subnormal : normal;
}

// A format whose one NaN, which overflow becomes too, is in the place of negative zero.
template <int mantissa_bits, int bias>
constexpr std::uint32_t small_with_one_zero(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t result = small_magnitude<mantissa_bits, bias>(bits & 0x7fff'ffff);
  const std::uint32_t sign = result == 0 ? 0 : bits >> 24 & 0x80;
  return result > 0x7f ? 0x80 : result | sign;
}

constexpr std::uint32_t f32_infinity = 0x7f80'0000;

}  // namespace detail

// The largest finite number.
template <class Narrow>
inline constexpr float largest_small = 0;
template <>
inline constexpr float largest_small<f8e4m3fn> = 448;
template <>
inline constexpr float largest_small<f8e5m2> = 57344;
template <>
inline constexpr float largest_small<f8e4m3fnuz> = 240;
template <>
inline constexpr float largest_small<f8e5m2fnuz> = 57344;
template <>
inline constexpr float largest_small<f4e2m1> = 6;

// Bits of the narrow value, in the low eight or four.
template <class Narrow>
constexpr std::uint32_t small_bits(float value);

template <>
constexpr std::uint32_t small_bits<f8e4m3fn>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  const std::uint32_t result = detail::small_magnitude<3, 7>(magnitude);
  const bool nan = magnitude >= detail::f32_infinity || result > 0x7f;
  return (nan ? 0x7f : result) | (bits >> 24 & 0x80);
}

template <>
constexpr std::uint32_t small_bits<f8e5m2>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  const std::uint32_t result = detail::small_magnitude<2, 15>(magnitude);
  const std::uint32_t nan = 0x7e | (magnitude >> 21 & 3);
  const std::uint32_t number = result > 0x7c ? 0x7c : result;
  return (magnitude > detail::f32_infinity ? nan : number) | (bits >> 24 & 0x80);
}

template <>
constexpr std::uint32_t small_bits<f8e4m3fnuz>(float value) {
  return detail::small_with_one_zero<3, 8>(value);
}
template <>
constexpr std::uint32_t small_bits<f8e5m2fnuz>(float value) {
  return detail::small_with_one_zero<2, 16>(value);
}

// Counts how many of the seven midpoints between neighbours are below the value; a midpoint itself
// counts if the upper neighbour is even. NaN is above all of them, and positive.
template <>
constexpr std::uint32_t small_bits<f4e2m1>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float x = std::bit_cast<float>(bits & 0x7fff'ffff);
  const std::uint32_t magnitude =
      (x <= 0.25F ? 0U : 1U) + (x < 0.75F ? 0U : 1U) + (x <= 1.25F ? 0U : 1U) +
      (x < 1.75F ? 0U : 1U) + (x <= 2.5F ? 0U : 1U) + (x < 3.5F ? 0U : 1U) + (x <= 5.0F ? 0U : 1U);
  return magnitude | (x == x ? bits >> 28 & 8 : 0);
}

// The exponent field, plus one from 1.5 times its power on; in f32 the least two are subnormals.
template <>
constexpr std::uint32_t small_bits<f8e8m0>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t normal = (bits >> 23) + (bits >> 22 & 1);
  const std::uint32_t power = bits < 0x0080'0000 ? (bits < 0x0060'0000 ? 0U : 1U) : normal;
  const bool none = bits == 0 || bits >= detail::f32_infinity;  // or a sign
  return none ? 0xff : power;
}

}  // namespace narrowgauge
