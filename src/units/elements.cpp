// SPDX-License-Identifier: Apache-2.0
#include "units/elements.h"

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

// Calls take(k, bits) for each element of a line.
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

namespace {

// Without branches and with a known format, so that compilers vectorize it if both sides are
// `dense`.
template <UnitFormat format, class Bits, bool dense>
bool split(const Elements& elements, std::int64_t line, std::int64_t depth, const SplitLine& to) {
  constexpr FloatFormat layout = float_format(format);
  constexpr int m = layout.mantissa_bits, dropped = format == UnitFormat::tf32 ? 13 : 0;
  constexpr std::uint32_t one = 1U << m, last = (1U << layout.exponent_bits) - 1;
  constexpr std::uint32_t first_not_finite =
      layout.has_infinity ? last << m : (last << m | (one - 1));
  constexpr auto unit = static_cast<float>(matrix_unit_arithmetic::power_of_two(-m));
  const auto* data = static_cast<const Bits*>(elements.data) + line * elements.line_stride;
  const std::int64_t from_stride = dense ? 1 : elements.depth_stride;
  const std::int64_t to_stride = dense ? 1 : to.stride;
  float* const significands = to.significands;
  float* const exponents = to.exponents;
  std::uint32_t not_finite = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::uint32_t bits = std::uint32_t{data[k * from_stride]} >> dropped;
    const std::uint32_t magnitude = bits & (last << m | (one - 1));
    const std::uint32_t mantissa = bits & (one - 1), field = magnitude >> m;
    const std::uint32_t normal = field != 0;
    const auto significand =
        static_cast<float>(static_cast<std::int32_t>(mantissa | normal << m)) * unit;
    const auto exponent =
        static_cast<float>(static_cast<std::int32_t>(field + 1 - normal) - layout.bias());
    const std::uint32_t sign = bits >> m >> layout.exponent_bits << 31;
    significands[k * to_stride] =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(significand) | sign);
    exponents[k * to_stride] = magnitude == 0 ? exponent_of_zero : exponent;
    not_finite |= first_not_finite - 1 - magnitude;  // the sign bit: of a difference below zero
  }
  return not_finite >> 31 == 0;
}

template <UnitFormat format, class Bits>
bool split(const Elements& elements, std::int64_t line, std::int64_t depth, const SplitLine& to) {
  if (elements.depth_stride == 1 && to.stride == 1)
    return split<format, Bits, true>(elements, line, depth, to);
  return split<format, Bits, false>(elements, line, depth, to);
}

// Adds the exponents of the block scales of a line.
bool add_scales(const Elements& elements, std::int64_t line, std::int64_t depth,
                const SplitLine& to) {
  const std::int64_t block = block_size(elements.format);
  bool finite = true;
  for (std::int64_t k = 0; k < depth; ++k) {
    const Unpacked scale =
        scale_of(elements.format, elements.scales[line * elements.scale_line_stride + k / block]);
    finite &= scale.is_finite();
    float& exponent = to.exponents[k * to.stride];
    if (exponent != exponent_of_zero) exponent += static_cast<float>(scale.exponent);
  }
  return finite;
}

}  // namespace

bool split_line(const Elements& elements, std::int64_t line, std::int64_t depth,
                const SplitLine& to) {
  using enum UnitFormat;
  switch (elements.format) {
    case f16:
      return split<f16, std::uint16_t>(elements, line, depth, to);
    case bf16:
      return split<bf16, std::uint16_t>(elements, line, depth, to);
    case tf32:
      return split<tf32, std::uint32_t>(elements, line, depth, to);
    case f8e4m3:
      return split<f8e4m3, std::uint8_t>(elements, line, depth, to);
    case f8e5m2:
      return split<f8e5m2, std::uint8_t>(elements, line, depth, to);
    case mxf8e4m3:
      return split<f8e4m3, std::uint8_t>(elements, line, depth, to) &
             add_scales(elements, line, depth, to);
    case mxf8e5m2:
      return split<f8e5m2, std::uint8_t>(elements, line, depth, to) &
             add_scales(elements, line, depth, to);
    default:
      NG_INVARIANT(false);
      return false;
  }
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
