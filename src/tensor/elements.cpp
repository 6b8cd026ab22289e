// SPDX-License-Identifier: Apache-2.0
// Reads and writes single elements of any dtype, through double or as whole numbers.
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

// The numbers of an integer dtype.
struct Range {
  WideInteger least, most;
  explicit Range(DType dtype)
      : least(is_unsigned(dtype) ? 0 : -(WideInteger{1} << (bits(dtype) - 1))),
        most(least + (WideInteger{1} << bits(dtype)) - 1) {}
};

// Saturates to the dtype's range; NaN becomes 0.
WideInteger saturated(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const Range range(dtype);
  const double rounded = nearest_integer(value);
  if (rounded >= static_cast<double>(range.most)) return range.most;
  if (rounded <= static_cast<double>(range.least)) return range.least;
  return static_cast<WideInteger>(rounded);
}

// A double with a sticky last bit: rounding it again, to fewer bits, gives what rounding the
// integer once gives (Boldo, Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
double rounded_to_odd(WideInteger value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
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

// Calls use(element) with the number of an integer dtype, or of bool or b1, in a type that holds
// it.
template <class Use>
auto with_whole(DType dtype, const void* data, std::int64_t index, const Use& use) {
  switch (dtype) {
    case DType::i64:
      return use(read<std::int64_t>(data, index));
    case DType::i32:
      return use(read<std::int32_t>(data, index));
    case DType::i16:
      return use(read<std::int16_t>(data, index));
    case DType::i8:
      return use(read<std::int8_t>(data, index));
    case DType::u64:
      return use(read<std::uint64_t>(data, index));
    case DType::u32:
      return use(read<std::uint32_t>(data, index));
    case DType::u16:
      return use(read<std::uint16_t>(data, index));
    case DType::u8:
      return use(read<std::uint8_t>(data, index));
    case DType::i4:
      return use(static_cast<int>(read_packed(data, index, 4) ^ 8U) - 8);
    case DType::i2:
      return use(static_cast<int>(read_packed(data, index, 2) ^ 2U) - 2);
    case DType::boolean:
      return use(read<std::uint8_t>(data, index) != 0 ? 1 : 0);
    default:
      return use(read_packed(data, index, bits(dtype)));
  }
}

// The low bits of a number as an element of an integer dtype.
void write_low_bits(DType dtype, void* data, std::int64_t index, WideInteger value) {
  switch (bits(dtype)) {
    case 64:
      return write(data, index, static_cast<std::uint64_t>(value));
    case 32:
      return write(data, index, static_cast<std::uint32_t>(value));
    case 16:
      return write(data, index, static_cast<std::uint16_t>(value));
    case 8:
      return write(data, index, static_cast<std::uint8_t>(value));
    default: {
      const unsigned mask = (1U << bits(dtype)) - 1;
      return write_packed(data, index, bits(dtype), static_cast<unsigned>(value) & mask);
    }
  }
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
    case DType::f8e4m3fnuz:
      return widen(read<f8e4m3fnuz>(data, index));
    case DType::f8e5m2fnuz:
      return widen(read<f8e5m2fnuz>(data, index));
    case DType::f4e2m1:
      return widen(f4e2m1{static_cast<std::uint8_t>(read_packed(data, index, 4))});
    case DType::f8e8m0:
      return power(read<f8e8m0>(data, index));
    default:
      return with_whole(dtype, data, index,
                        [](auto number) { return static_cast<double>(number); });
  }
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
    case DType::f8e4m3fnuz:
      return write(data, index, narrow<f8e4m3fnuz>(value));
    case DType::f8e5m2fnuz:
      return write(data, index, narrow<f8e5m2fnuz>(value));
    case DType::f4e2m1:
      return write_packed(data, index, 4, narrow<f4e2m1>(value).bits);
    case DType::f8e8m0:
      return write(data, index, narrow<f8e8m0>(value));
    case DType::b1:
    case DType::boolean:
      return write_low_bits(dtype, data, index, value != 0 ? 1 : 0);
    default:
      return write_low_bits(dtype, data, index, saturated(value, dtype));
  }
}

WideInteger load_whole(DType dtype, const void* data, std::int64_t index) {
  if (is_floating(dtype)) {
    constexpr double most = 0x1p126;  // what a WideInteger holds, also with a sign
    const double number = std::trunc(load_element(dtype, data, index));
    return std::isnan(number) ? 0 : static_cast<WideInteger>(std::clamp(number, -most, most));
  }
  return with_whole(dtype, data, index, [](auto number) { return WideInteger{number}; });
}

void store_whole(DType dtype, void* data, std::int64_t index, WideInteger value) {
  if (is_integer(dtype)) {
    const Range range(dtype);
    write_low_bits(dtype, data, index, std::clamp(value, range.least, range.most));
  } else {
    const double number = dtype == DType::f64 ? static_cast<double>(value) : rounded_to_odd(value);
    store_element(dtype, data, index, number);
  }
}

WideInteger wrapped(WideInteger value, DType dtype) {
  if (!is_integer(dtype)) return value;
  const int unused = 64 - bits(dtype);
  const std::uint64_t high = static_cast<std::uint64_t>(value) << unused;
  if (is_unsigned(dtype)) return high >> unused;
  return static_cast<std::int64_t>(high) >> unused;
}

void copy_element(int bits, const void* source, std::int64_t from, void* target, std::int64_t to) {
  if (bits < 8) return write_packed(target, to, bits, read_packed(source, from, bits));
  const std::int64_t bytes = bits / 8;
  std::memcpy(static_cast<std::byte*>(target) + to * bytes,
              static_cast<const std::byte*>(source) + from * bytes,
              static_cast<std::size_t>(bytes));
}

void convert_elements(DType from, const void* source, DType to, void* target, std::int64_t count) {
  if (from == to) {
    const std::int64_t bytes = bytes_for(count, from);
    std::copy_n(static_cast<const std::byte*>(source), bytes, static_cast<std::byte*>(target));
  } else if (is_floating(from)) {
    for (std::int64_t i = 0; i < count; ++i)
      store_element(to, target, i, load_element(from, source, i));
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      store_whole(to, target, i, load_whole(from, source, i));
  }
}

void wrap_elements(DType from, const void* source, DType to, void* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    write_low_bits(to, target, i, load_whole(from, source, i));
}

}  // namespace narrowgauge
