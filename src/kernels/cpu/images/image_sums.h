// SPDX-License-Identifier: Apache-2.0
// The inner loops of convolutions of plain images: 16 channels of y in a vector, and the values of
// x broadcast.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

inline constexpr std::int64_t image_panel = 16;  // channels of y

// The operands of the sums for one line of y.
struct ImageSums {
  const std::byte* rows;   // of x under the line, with their padding
  std::int64_t row_bytes;  // from row to row
  std::int64_t row_count;
  std::int64_t steps;        // along each row, of four bytes each
  std::int64_t pixel_bytes;  // in a row, from pixel to pixel of y
  std::int64_t pixels, panels;
  // For each panel, row and step: 16 times four bytes.
  const std::byte* weights;
};

namespace avx512 {
// [pixels][panels][16] sums of u8 times s8.
void image_byte_sums(const ImageSums& line, std::int32_t* sums);

// y = min(high, max(low, bias + sum of f32 x times f32 w)) in bf16, [pixels][channels].
struct NarrowImageResult {
  std::byte* y;
  std::int64_t channels;
  const float* biases;  // padded to whole panels
  float low, high;
};
void image_float_sums(const ImageSums& line, const NarrowImageResult& result);
}  // namespace avx512

}  // namespace narrowgauge::cpu
