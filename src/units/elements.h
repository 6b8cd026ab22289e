// SPDX-License-Identifier: Apache-2.0
// Operands of simulated products, in memory and unpacked.
#pragma once

#include <cstdint>
#include <span>

#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge::sim {

// A matrix [rows, k] or [k, columns], seen along its rows or columns: element (i, k) of line i lies
// at data[i * line_stride + k * depth_stride]. f16 and bf16 take 16 bits; f32 and tf32 are f32;
// f64; all others take a byte each, also those of 4 bits and of one. Block-scaled formats have a
// scale byte for block j of line i at scales[i * scale_line_stride + j].
struct Elements {
  UnitFormat format{};
  const void* data = nullptr;
  std::int64_t line_stride = 0, depth_stride = 1;
  const std::uint8_t* scales = nullptr;
  std::int64_t scale_line_stride = 0;
};

int element_bytes(UnitFormat format);
std::uint64_t element_bits(const Elements& elements, std::int64_t line, std::int64_t k);

// Unpacks line `line`, elements and scales, for the scalar model.
void unpack_line(const Elements& elements, std::int64_t line, std::span<Unpacked> values);
void unpack_scales(const Elements& elements, std::int64_t line, std::span<Unpacked> scales);

// Splits a line of `depth` elements into significands in (-2, 2) and exponents, as f32, `stride`
// apart; exponents of block-scaled elements include the scale's. Zeros have an exponent below all
// others. split_line() returns false if an element or a scale is not finite.
struct SplitLine {
  float *significands, *exponents;
  std::int64_t stride;
};
bool split_line(const Elements& elements, std::int64_t line, std::int64_t depth,
                const SplitLine& to);
inline constexpr float exponent_of_zero = -8192;

// Widens a line to f32, which holds every format but f64.
void widen_line(const Elements& elements, std::int64_t line, std::int64_t depth, float* values,
                std::int64_t stride);

}  // namespace narrowgauge::sim
