// SPDX-License-Identifier: Apache-2.0
// The narrow floating-point types of wmma kernels. Under nvcc they are CUDA's __half and
// __nv_bfloat16; on the host, types of the same bits and conversions: to nearest even, subnormals
// kept, every NaN becomes 0x7fff. Arithmetic of two halves rounds its result to half.
#pragma once

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace narrowgauge::wmma {
inline namespace on_device {

using half = ::__half;
using bfloat16 = ::__nv_bfloat16;

__host__ __device__ inline std::uint16_t bits_of(half value) {
  return static_cast<__half_raw>(value).x;
}
__host__ __device__ inline std::uint16_t bits_of(bfloat16 value) {
  return static_cast<__nv_bfloat16_raw>(value).x;
}
__host__ __device__ inline half half_from_bits(std::uint16_t bits) {
  __half_raw raw;
  raw.x = bits;
  return half(raw);
}
__host__ __device__ inline bfloat16 bfloat16_from_bits(std::uint16_t bits) {
  __nv_bfloat16_raw raw;
  raw.x = bits;
  return bfloat16(raw);
}

}  // namespace on_device
}  // namespace narrowgauge::wmma

#else
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "narrowgauge/matrix_unit_arithmetic.h"

namespace narrowgauge::wmma {
inline namespace on_host {

namespace number {

// The 16 bits of a value in a format with that many bits of exponent and mantissa.
inline std::uint16_t rounded_bits(double value, FloatFormat format) {
  if (std::isnan(value)) return 0x7fff;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(value) << 1 >> 1;
  const int field = static_cast<int>(magnitude >> 52);
  if (field == 2047)
    return static_cast<std::uint16_t>(sign | 0x7fff >> format.mantissa_bits
                                                           << format.mantissa_bits);
  if (field == 0) return sign;  // a subnormal double is far below the smallest of either format
  const auto significand =
      static_cast<std::int64_t>((magnitude & 0xf'ffff'ffff'ffff) | 0x10'0000'0000'0000);
  const matrix_unit_arithmetic::Rounding nearest{format, format.mantissa_bits, true};
  return static_cast<std::uint16_t>(
      sign | matrix_unit_arithmetic::rounded(significand, field - 1075, nearest));
}

inline float half_value(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fff;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  std::uint32_t wide = (magnitude << 13) + (112U << 23);
  if (magnitude >= 0x7c00) wide = magnitude << 13 | 0x7f80'0000;
  if (magnitude < 0x400)
    wide = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  return std::bit_cast<float>(wide | sign);
}

}  // namespace number

// IEEE 754 binary16, CUDA's __half.
struct half {
  half() = default;
  half(float value) : bits(number::rounded_bits(value, {5, 10})) {}   // rounds to nearest even
  half(double value) : bits(number::rounded_bits(value, {5, 10})) {}  // rounds once
  half(int value) : bits(number::rounded_bits(value, {5, 10})) {}     // rounds once
  operator float() const { return number::half_value(bits); }         // exact
  // The number with the other sign, NaN too.
  half operator-() const {
    half result;
    result.bits = bits ^ 0x8000;
    return result;
  }
  std::uint16_t bits;  // sign, 5 bits of exponent, 10 of mantissa
};

// The upper half of an f32, CUDA's __nv_bfloat16.
struct bfloat16 {
  bfloat16() = default;
  bfloat16(float value) : bits(number::rounded_bits(value, {8, 7})) {}   // rounds to nearest even
  bfloat16(double value) : bits(number::rounded_bits(value, {8, 7})) {}  // rounds once
  bfloat16(int value) : bits(number::rounded_bits(value, {8, 7})) {}     // rounds once
  // The same number, exactly.
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  // The number with the other sign, NaN too.
  bfloat16 operator-() const {
    bfloat16 result;
    result.bits = bits ^ 0x8000;
    return result;
  }
  std::uint16_t bits;  // sign, 8 bits of exponent, 7 of mantissa
};

// The two narrow types.
template <class T>
concept NarrowFloat = std::same_as<T, half> || std::same_as<T, bfloat16>;

// f32 has more than twice the bits of both formats, so rounding twice equals rounding once.
template <NarrowFloat T>
T operator+(T a, T b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
// The difference, rounded once as the sum is.
template <NarrowFloat T>
T operator-(T a, T b) {
  return static_cast<float>(a) - static_cast<float>(b);
}
// The product, rounded once as the sum is.
template <NarrowFloat T>
T operator*(T a, T b) {
  return static_cast<float>(a) * static_cast<float>(b);
}
// The quotient, rounded once as the sum is.
template <NarrowFloat T>
T operator/(T a, T b) {
  return static_cast<float>(a) / static_cast<float>(b);
}

inline std::uint16_t bits_of(half value) { return value.bits; }      // its bits
inline std::uint16_t bits_of(bfloat16 value) { return value.bits; }  // its bits
// The half with these bits.
inline half half_from_bits(std::uint16_t bits) {
  half value;
  value.bits = bits;
  return value;
}
// The bfloat16 with these bits.
inline bfloat16 bfloat16_from_bits(std::uint16_t bits) {
  bfloat16 value;
  value.bits = bits;
  return value;
}

}  // namespace on_host
}  // namespace narrowgauge::wmma
#endif
