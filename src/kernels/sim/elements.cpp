// SPDX-License-Identifier: Apache-2.0
#include "kernels/sim/elements.h"

#include <cstring>

#include "narrowgauge/error.h"

namespace narrowgauge::sim {

namespace {

template <class Bits>
std::uint64_t read(const Elements& elements, std::int64_t line, std::int64_t k) {
  Bits bits;
  const std::int64_t index = line * elements.line_stride + k * elements.depth_stride;
  std::memcpy(&bits, static_cast<const std::byte*>(elements.data) + index * sizeof(Bits),
              sizeof(Bits));
  return bits;
}

// take(k, bits) for each element of a line.
template <class Take>
void for_bits(const Elements& elements, std::int64_t line, std::size_t depth, const Take& take) {
  const auto each = [&](auto zero) {
    for (std::size_t k = 0; k < depth; ++k)
      take(k, read<decltype(zero)>(elements, line, static_cast<std::int64_t>(k)));
  };
  switch (element_bytes(elements.format)) {
    case 1:
      return each(std::uint8_t{});
    case 2:
      return each(std::uint16_t{});
    case 4:
      return each(std::uint32_t{});
    default:
      return each(std::uint64_t{});
  }
}

Unpacked scale_of(UnitFormat format, std::uint8_t bits) {
  if (format == UnitFormat::nvf4) return unpack(UnitFormat::f8e4m3, bits);
  return unpack_power(bits);
}

}  // namespace

int element_bytes(UnitFormat format) {
  switch (format) {
    case UnitFormat::f64:
      return 8;
    case UnitFormat::f32:
    case UnitFormat::tf32:
    case UnitFormat::s32:
      return 4;
    case UnitFormat::f16:
    case UnitFormat::bf16:
      return 2;
    default:
      return 1;
  }
}

std::uint64_t element_bits(const Elements& elements, std::int64_t line, std::int64_t k) {
  switch (element_bytes(elements.format)) {
    case 1:
      return read<std::uint8_t>(elements, line, k);
    case 2:
      return read<std::uint16_t>(elements, line, k);
    case 4:
      return read<std::uint32_t>(elements, line, k);
    default:
      return read<std::uint64_t>(elements, line, k);
  }
}

void unpack_line(const Elements& elements, std::int64_t line, std::span<Unpacked> values) {
  for_bits(elements, line, values.size(),
           [&](std::size_t k, std::uint64_t bits) { values[k] = unpack(elements.format, bits); });
}

void unpack_scales(const Elements& elements, std::int64_t line, std::span<Unpacked> scales) {
  for (std::size_t j = 0; j < scales.size(); ++j)
    scales[j] =
        scale_of(elements.format,
                 elements.scales[line * elements.scale_line_stride + static_cast<std::int64_t>(j)]);
}

bool split_line(const Elements& elements, std::int64_t line, std::int64_t depth,
                const SplitLine& to) {
  const FloatFormat format = float_format(elements.format);
  const int m = format.mantissa_bits, dropped = elements.format == UnitFormat::tf32 ? 13 : 0;
  const std::uint64_t one = std::uint64_t{1} << m,
                      fields = std::uint64_t{1} << format.exponent_bits;
  const auto unit = static_cast<float>(matrix_unit_arithmetic::power_of_two(-m));
  const auto block = static_cast<std::size_t>(block_size(elements.format));
  bool finite = true;
  Unpacked scale;
  for_bits(elements, line, static_cast<std::size_t>(depth), [&](std::size_t k, std::uint64_t bits) {
    bits >>= dropped;
    if (block && k % block == 0) {
      const auto j = static_cast<std::int64_t>(k / block);
      scale = scale_of(elements.format, elements.scales[line * elements.scale_line_stride + j]);
      finite &= scale.is_finite();
    }
    const std::uint64_t mantissa = bits & (one - 1), field = bits >> m & (fields - 1);
    const bool last = field == fields - 1;
    finite &= !(last && (format.has_infinity || (format.has_nan && mantissa == one - 1)));
    const auto magnitude = static_cast<float>(field ? mantissa | one : mantissa) * unit;
    const int exponent = static_cast<int>(field ? field : 1) - format.bias() + scale.exponent;
    const std::int64_t at = static_cast<std::int64_t>(k) * to.stride;
    to.significands[at] = bits & (one * fields) ? -magnitude : magnitude;
    to.exponents[at] = magnitude == 0 ? exponent_of_zero : static_cast<float>(exponent);
  });
  return finite;
}

void widen_line(const Elements& elements, std::int64_t line, std::int64_t depth, float* values,
                std::int64_t stride) {
  for_bits(elements, line, static_cast<std::size_t>(depth), [&](std::size_t k, std::uint64_t bits) {
    values[static_cast<std::int64_t>(k) * stride] =
        elements.format == UnitFormat::f32
            ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
            : static_cast<float>(unpack(elements.format, bits).value);
  });
}

}  // namespace narrowgauge::sim
