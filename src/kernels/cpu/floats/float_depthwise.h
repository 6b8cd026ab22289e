// SPDX-License-Identifier: Apache-2.0
// The inner part of convolutions of f32 that give each channel a window of its own: up to 8 pixels
// of a line by 32 channels that lie together.
#pragma once

#include <cstdint>

#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t depthwise_pixels = 8;
inline constexpr std::int64_t depthwise_vectors = 2;  // of 16 channels
inline constexpr std::int64_t depthwise_channels = 16 * depthwise_vectors;

struct FloatTap {
  std::int64_t x;        // elements from the first tap of a window
  std::int64_t weights;  // elements from the weights of the first tap
};

struct DepthwiseBlock {
  std::int64_t pixel_count;  // 1 to 8, which have the same taps inside of the image
  const FloatTap* taps;
  std::int64_t tap_count;
  const float* x;            // the first tap's place, which may be outside of the image
  std::int64_t pixel_pitch;  // elements of x between pixels of y
  // What the next line reads beyond this one and is prefetched into L1 meanwhile: from x + ahead.
  std::int64_t ahead, column_pitch, line_pitch, columns_ahead, lines_ahead;
  const float* weights;
  FloatResults results;
};

namespace avx512 {
void multiply_depthwise_block(const DepthwiseBlock& block);
}  // namespace avx512

}  // namespace narrowgauge::cpu
