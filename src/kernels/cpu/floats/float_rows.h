// SPDX-License-Identifier: Apache-2.0
// The inner part of convolutions of f32 whose channels lie together: up to 14 pixels by a panel of
// 32 packed output channels, or up to 9 by 48, whose 27 or 28 vectors of sums stay in registers
// until they are stored.
#pragma once

#include <cstdint>

#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t float_block_rows = 14;  // at most

// How many pixels have their sums in registers, for panels of so many vectors of channels.
constexpr std::int64_t float_block_pixels(std::int64_t vectors) { return vectors == 3 ? 9 : 14; }

struct FloatBlock {
  // [taps][float_block_rows]: the input channels under each tap. Null first: outside of the image
  // for all rows, so that the tap is left out.
  const float* const* rows;
  std::int64_t row_count, taps, depth;
  const float* weights;  // [taps][depth][16, 32 or 48]
  const float* ahead;    // to prefetch into L2 meanwhile: half as many lines as `depth * taps`
  FloatResults results;
};

namespace avx512 {
void multiply_float_block(const FloatBlock& block);
}  // namespace avx512

}  // namespace narrowgauge::cpu
