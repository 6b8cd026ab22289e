// SPDX-License-Identifier: Apache-2.0
// The inner part of convolutions of f32 whose channels lie together: up to 14 pixels by a panel of
// 32 packed output channels, whose 28 vectors of sums stay in registers until they are stored.
#pragma once

#include <cstdint>

#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t float_block_rows = 14;
inline constexpr std::int64_t float_panel = 32;  // output channels

struct FloatBlock {
  // [taps][float_block_rows]: the input channels under each tap. Null first: outside of the image
  // for all rows, so that the tap is left out.
  const float* const* rows;
  std::int64_t row_count, taps, depth;
  const float* weights;  // [taps][depth][16 or 32]
  const float* ahead;    // to bring into L2 meanwhile: half as many lines as `depth * taps`
  FloatResults results;
};

namespace avx512 {
void multiply_float_block(const FloatBlock& block);
}  // namespace avx512

}  // namespace narrowgauge::cpu
