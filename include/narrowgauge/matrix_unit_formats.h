// SPDX-License-Identifier: Apache-2.0
// The values that matrix units read: elements of every operand format, unpacked from their bits.
// Header-only.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "narrowgauge/matrix_unit.h"

namespace narrowgauge {

// Bits of a floating-point format: sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits, mantissa_bits;  // without the leading one
  bool has_infinity = true;  // false: all ones in exponent and mantissa is the one NaN, or none is
  bool has_nan = true;       // false: every pattern is a number
  // What is added to an exponent in its field.
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // The smallest exponent of normal numbers, which is that of subnormals too.
  constexpr int smallest_exponent() const { return 1 - bias(); }
};

// {} for integers. tf32 is f32 whose last 13 bits are not read; block formats have their elements'.
constexpr FloatFormat float_format(UnitFormat format) {
  switch (format) {
    case UnitFormat::f64:
      return {11, 52};
    case UnitFormat::f32:
      return {8, 23};
    case UnitFormat::tf32:
      return {8, 10};
    case UnitFormat::bf16:
      return {8, 7};
    case UnitFormat::f16:
      return {5, 10};
    case UnitFormat::f8e4m3:
    case UnitFormat::mxf8e4m3:
      return {4, 3, false};
    case UnitFormat::f8e5m2:
    case UnitFormat::mxf8e5m2:
      return {5, 2};
    case UnitFormat::mxf4:
    case UnitFormat::nvf4:
      return {2, 1, false, false};
    default:
      return {};
  }
}

// value = significand * 2^(exponent - fraction); subnormals keep their format's smallest exponent.
struct Unpacked {
  double value = 0;              // the element itself, also where it is not finite
  std::int64_t significand = 0;  // with the sign; 0 where it is not finite
  int exponent = 0;              // of the leading one
  int fraction = 0;              // bits of the significand below its one
  bool is_finite() const { return std::isfinite(value); }  // neither infinity nor NaN
};

namespace matrix_unit_arithmetic {

constexpr std::int64_t sign_extended(std::uint64_t bits, int width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  return static_cast<std::int64_t>(((bits & (2 * sign - 1)) ^ sign) - sign);
}

constexpr std::int64_t integer_value(UnitFormat format, std::uint64_t bits) {
  switch (format) {
    case UnitFormat::s8:
      return sign_extended(bits, 8);
    case UnitFormat::u8:
      return static_cast<std::int64_t>(bits & 0xff);
    case UnitFormat::s4:
      return sign_extended(bits, 4);
    case UnitFormat::u4:
      return static_cast<std::int64_t>(bits & 0xf);
    case UnitFormat::b1:
      return static_cast<std::int64_t>(bits & 1);
    default:
      return sign_extended(bits, 32);
  }
}

// 2^exponent; the exponent must be that of a normal double.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

inline Unpacked unpack_float(FloatFormat format, std::uint64_t bits) {
  const int m = format.mantissa_bits;
  const std::uint64_t one = std::uint64_t{1} << m,
                      fields = std::uint64_t{1} << format.exponent_bits;
  const std::uint64_t mantissa = bits & (one - 1), field = bits >> m & (fields - 1);
  const bool negative = bits >> m >> format.exponent_bits & 1;
  Unpacked result;
  const bool last = field == fields - 1;
  if (last && format.has_infinity) {
    result.value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                            : std::numeric_limits<double>::infinity();
  } else if (last && format.has_nan && mantissa == one - 1) {
    result.value = std::numeric_limits<double>::quiet_NaN();
  } else {
    result.significand = static_cast<std::int64_t>(field ? mantissa | one : mantissa);
    result.exponent = static_cast<int>(field ? field : 1) - format.bias();
    result.fraction = m;
    result.value =
        m == 52 ? std::bit_cast<double>(bits & ~(std::uint64_t{1} << 63))
                : static_cast<double>(result.significand) * power_of_two(result.exponent - m);
  }
  if (!negative) return result;
  result.value = -result.value;
  result.significand = -result.significand;
  return result;
}

}  // namespace matrix_unit_arithmetic

// Unpacks one element: f16 from the lowest 16 bits, tf32 from its f32, s4 from the lowest 4 bits.
inline Unpacked unpack(UnitFormat format, std::uint64_t bits) {
  if (format >= UnitFormat::s8) {
    const std::int64_t value = matrix_unit_arithmetic::integer_value(format, bits);
    return {static_cast<double>(value), value, 0, 0};
  }
  if (format == UnitFormat::tf32) bits >>= 13;
  return matrix_unit_arithmetic::unpack_float(float_format(format), bits);
}

// Unpacks a power of two of 8 bits, biased by 127; all ones is NaN (OCP MX 1.0: E8M0).
inline Unpacked unpack_power(std::uint64_t bits) {
  if ((bits & 0xff) == 0xff) return {std::numeric_limits<double>::quiet_NaN(), 0, 0, 0};
  const int exponent = static_cast<int>(bits & 0xff) - 127;
  return {matrix_unit_arithmetic::power_of_two(exponent), 1, exponent, 0};
}

// One scale for each block along k: powers of two for the mx formats, f8e4m3 for nvf4, whose sign
// is ignored.
struct BlockScales {
  std::span<const Unpacked> a, b;  // in the order of k
};
// Elements along k that share a scale; 0: the format has no scales.
constexpr int block_size(UnitFormat operand) {
  if (operand == UnitFormat::nvf4) return 16;
  const bool blocks = operand >= UnitFormat::mxf8e4m3 && operand <= UnitFormat::mxf4;
  return blocks ? 32 : 0;
}

}  // namespace narrowgauge
