// SPDX-License-Identifier: Apache-2.0
// Reads and writes single elements of any dtype, through double.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "narrowgauge/error.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

template <class T>
T read(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * std::int64_t{sizeof(T)},
              sizeof(T));
  return value;
}

template <class T>
void write(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + index * std::int64_t{sizeof(T)}, &value, sizeof(T));
}

// Packed elements: `width` bits each, low bits first.
unsigned read_packed(const void* data, std::int64_t index, int width) {
  const int position = static_cast<int>(index * width % 8);
  const unsigned byte = static_cast<const std::uint8_t*>(data)[index * width / 8];
  return byte >> position & ((1U << width) - 1);
}

void write_packed(void* data, std::int64_t index, int width, unsigned value) {
  const int position = static_cast<int>(index * width % 8);
  const unsigned mask = ((1U << width) - 1) << position;
  auto& byte = static_cast<std::uint8_t*>(data)[index * width / 8];
  byte = static_cast<std::uint8_t>((byte & ~mask) | ((value << position) & mask));
}

// Rounds to nearest even without the CPU's rounding mode. From 2^52 on every double is an integer.
double nearest_integer(double value) {
  if (!(std::fabs(value) < 0x1p52)) return value;
  const double floor = std::floor(value), rest = value - floor;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2) != 0);
  return up ? floor + 1 : floor;
}

// Saturates to the dtype's range; NaN becomes 0.
std::int64_t saturated(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const int width = bits(dtype);
  const bool is_signed = dtype != DType::u8 && dtype != DType::u4;
  const double limit = std::ldexp(1.0, is_signed ? width - 1 : width);  // one past the largest
  const double rounded = nearest_integer(value);
  if (rounded >= limit) {
    const std::uint64_t past = std::uint64_t{1} << (is_signed ? width - 1 : width);
    return static_cast<std::int64_t>(past - 1);
  }
  return static_cast<std::int64_t>(std::max(rounded, is_signed ? -limit : 0.0));
}

template <class T>
void write_integer(void* data, std::int64_t index, DType dtype, double value) {
  write(data, index, static_cast<T>(saturated(value, dtype)));
}

// A double with a sticky last bit: rounding it again, to fewer bits, gives what rounding the
// integer once gives (Boldo, Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
double rounded_to_odd(std::int64_t value) {
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int excess = std::max(11 - std::countl_zero(magnitude), 0);  // bits beyond 53
  const std::uint64_t kept = magnitude >> excess;
  const bool inexact = kept << excess != magnitude;
  const double result = std::ldexp(static_cast<double>(kept | (inexact ? 1U : 0U)), excess);
  return value < 0 ? -result : result;
}

// Avoids f32, where the least power is a subnormal.
double power(f8e8m0 value) {
  if (value.bits == 0xff) return std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<double>((std::uint64_t{value.bits} + 1023 - 127) << 52);
}

}  // namespace

double load_element(DType dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case DType::f64:
      return read<double>(data, index);
    case DType::f32:
      return read<float>(data, index);
    case DType::f16:
      return widen(read<f16>(data, index));
    case DType::bf16:
      return widen(read<bf16>(data, index));
    case DType::f8e4m3fn:
      return widen(read<f8e4m3fn>(data, index));
    case DType::f8e5m2:
      return widen(read<f8e5m2>(data, index));
    case DType::f4e2m1:
      return widen(f4e2m1{static_cast<std::uint8_t>(read_packed(data, index, 4))});
    case DType::f8e8m0:
      return power(read<f8e8m0>(data, index));
    case DType::i64:
      return static_cast<double>(read<std::int64_t>(data, index));
    case DType::i32:
      return read<std::int32_t>(data, index);
    case DType::i16:
      return read<std::int16_t>(data, index);
    case DType::i8:
      return read<std::int8_t>(data, index);
    case DType::u8:
      return read<std::uint8_t>(data, index);
    case DType::i4:
      return static_cast<int>(read_packed(data, index, 4) ^ 8U) - 8;
    case DType::u4:
      return read_packed(data, index, 4);
    case DType::b1:
      return read_packed(data, index, 1);
    case DType::boolean:
      return read<std::uint8_t>(data, index) != 0;
  }
  NG_INVARIANT(false);
  return 0;
}

void store_element(DType dtype, void* data, std::int64_t index, double value) {
  switch (dtype) {
    case DType::f64:
      return write(data, index, value);
    case DType::f32:
      return write(data, index, narrow<float>(value));
    case DType::f16:
      return write(data, index, narrow<f16>(value));
    case DType::bf16:
      return write(data, index, narrow<bf16>(value));
    case DType::f8e4m3fn:
      return write(data, index, narrow<f8e4m3fn>(value));
    case DType::f8e5m2:
      return write(data, index, narrow<f8e5m2>(value));
    case DType::f4e2m1:
      return write_packed(data, index, 4, narrow<f4e2m1>(value).bits);
    case DType::f8e8m0:
      return write(data, index, narrow<f8e8m0>(value));
    case DType::i64:
      return write_integer<std::int64_t>(data, index, dtype, value);
    case DType::i32:
      return write_integer<std::int32_t>(data, index, dtype, value);
    case DType::i16:
      return write_integer<std::int16_t>(data, index, dtype, value);
    case DType::i8:
      return write_integer<std::int8_t>(data, index, dtype, value);
    case DType::u8:
      return write_integer<std::uint8_t>(data, index, dtype, value);
    case DType::i4:
    case DType::u4:
      return write_packed(data, index, 4, static_cast<unsigned>(saturated(value, dtype)) & 15U);
    case DType::b1:
      return write_packed(data, index, 1, value != 0);
    case DType::boolean:
      return write(data, index, static_cast<std::uint8_t>(value != 0));
  }
  NG_INVARIANT(false);
}

void convert_elements(DType from, const void* source, DType to, void* target, std::int64_t count) {
  if (from == to) {
    const std::int64_t bytes = bytes_for(count, from);
    std::copy_n(static_cast<const std::byte*>(source), bytes, static_cast<std::byte*>(target));
    return;
  }
  const bool rounded_again = from == DType::i64 && to != DType::f64;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = rounded_again ? rounded_to_odd(read<std::int64_t>(source, i))
                                       : load_element(from, source, i);
    store_element(to, target, i, value);
  }
}

}  // namespace narrowgauge
