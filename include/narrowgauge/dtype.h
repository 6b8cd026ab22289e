// SPDX-License-Identifier: Apache-2.0
// The number formats of tensors, and the floating-point values of 16 bits and fewer themselves.
// tf32 is a rounding of f32 and a math mode, not a dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "narrowgauge/export.h"

namespace narrowgauge {

// Formats of elements, floating-point ones by their bits of exponent and mantissa. i4, u4 and
// f4e2m1 are packed two to a byte, i2 and u2 four, b1 eight; `boolean` takes a byte.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e5m2,
  f8e4m3fnuz,  // one NaN, neither infinity nor negative zero
  f8e5m2fnuz,  // the same
  f4e2m1,      // two to a byte; neither infinity nor NaN
  f8e8m0,      // a scale: 2^-127 ... 2^127 or NaN; neither sign nor zero
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  i4,
  u4,
  i2,
  u2,
  b1,
  boolean
};
inline constexpr int dtype_count = 24;  // of the formats in DType

NG_API std::string_view name(DType dtype);                       // "f32", "bf16", ..., "bool"
NG_API std::optional<DType> parse_dtype(std::string_view name);  // the inverse; empty if unknown
NG_API int bits(DType dtype);          // of one element: 1, 2, 4, 8, ... 64
NG_API bool is_floating(DType dtype);  // f64 ... f8e8m0
NG_API bool is_integer(DType dtype);   // i64 ... u2; not b1, not bool
NG_API bool is_unsigned(DType dtype);  // u64 ... u2
// f4e2m1 and f8e8m0, the parts of block formats, are moved, cast and quantised, not computed with.
NG_API bool is_storage_only(DType dtype);
NG_API double largest_finite(DType dtype);      // of integers too
NG_API double smallest_normal(DType dtype);     // floating dtypes only
NG_API double smallest_subnormal(DType dtype);  // floating dtypes only; f8e8m0 has none: its least
inline void append_text(std::string& out, DType dtype) { out += name(dtype); }

// Bytes of `elements` packed values: i4, u4 and f4e2m1 take two to a byte, i2 and u2 four, b1
// eight, low bits first.
constexpr std::int64_t bytes_for(std::int64_t elements, int bits_each) {
  return (elements * bits_each + 7) / 8;
}
// Bytes of `elements` packed values of a dtype.
inline std::int64_t bytes_for(std::int64_t elements, DType dtype) {
  return bytes_for(elements, bits(dtype));
}

// Holds every number of every integer format, and any sum, difference or product of two.
__extension__ typedef __int128 WideInteger;

// Storage types: only bits; arithmetic is done in float. Conversions round to nearest even.
struct f16 {
  std::uint16_t bits = 0;  // sign, 5 bits of exponent, 10 of mantissa (IEEE 754 binary16)
  bool operator==(const f16&) const = default;
};
// The upper half of an f32.
struct bf16 {
  std::uint16_t bits = 0;  // sign, 8 bits of exponent, 7 of mantissa
  bool operator==(const bf16&) const = default;
};
// No infinities; the largest number is 448 (OCP OFP8).
struct f8e4m3fn {
  std::uint8_t bits = 0;  // sign, 4 bits of exponent, 3 of mantissa
  bool operator==(const f8e4m3fn&) const = default;
};
// A format with infinities, whose largest finite number is 57344 (OCP OFP8).
struct f8e5m2 {
  std::uint8_t bits = 0;  // sign, 5 bits of exponent, 2 of mantissa
  bool operator==(const f8e5m2&) const = default;
};
// No infinities, no negative zero; the bits 0x80 are NaN, the largest number is 240 (ONNX, "Float
// stored in 8 bits").
struct f8e4m3fnuz {
  std::uint8_t bits = 0;  // sign, 4 bits of exponent + 8, 3 of mantissa
  bool operator==(const f8e4m3fnuz&) const = default;
};
// A format without infinities and negative zero; the bits 0x80 are NaN, the largest number is
// 57344.
struct f8e5m2fnuz {
  std::uint8_t bits = 0;  // sign, 5 bits of exponent + 16, 2 of mantissa
  bool operator==(const f8e5m2fnuz&) const = default;
};
struct f4e2m1 {           // one value, in the low four bits
  std::uint8_t bits = 0;  // sign, 2 bits of exponent, 1 of mantissa
  bool operator==(const f4e2m1&) const = default;
};
// A power of two (OCP MX).
struct f8e8m0 {
  std::uint8_t bits = 0;  // exponent + 127; 0xff is NaN
  bool operator==(const f8e8m0&) const = default;
};

}  // namespace narrowgauge
