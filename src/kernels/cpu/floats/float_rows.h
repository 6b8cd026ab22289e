// SPDX-License-Identifier: Apache-2.0
// The inner part of convolutions of f32 whose channels lie together: up to 14 pixels by a panel of
// 32 packed output channels, whose 28 vectors of sums stay in registers until they are stored.
#pragma once

#include <cstdint>
#include <limits>

namespace narrowgauge::cpu {

inline constexpr std::int64_t float_block_rows = 14;
inline constexpr std::int64_t float_panel = 32;  // output channels

// What results are kept within; NaN stays NaN.
struct FloatBounds {
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

struct FloatBlock {
  // [taps][float_block_rows]: the input channels under each tap. Null first: outside of the image
  // for all rows, so that the tap is left out.
  const float* const* rows;
  std::int64_t row_count, taps, depth;
  const float* weights;   // [taps][depth][16 or 32]
  const float* ahead;     // to bring into L2 meanwhile: half as many lines as `depth * taps`
  const float* bias;      // for each column, or null
  const float* residual;  // added to the sums, lies as y does; or null
  float* y;
  std::int64_t pitch;    // elements between rows of y
  std::int64_t columns;  // 1 to 32
  FloatBounds bounds;
  bool streams;  // y is stored past the caches: whole lines, which nobody reads soon
};

namespace avx512 {
void multiply_float_block(const FloatBlock& block);
// Must stand between blocks that stream and whatever tells other threads of them.
void end_float_streams();
}  // namespace avx512

}  // namespace narrowgauge::cpu
