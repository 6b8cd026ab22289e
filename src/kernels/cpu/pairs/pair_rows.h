// SPDX-License-Identifier: Apache-2.0
// Operands of a sum along pixels: the two values of a pair are the same pixel of two images, so
// that a window moves by whole pairs. Lanes are channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t pair_lanes = 32;

// Neighbouring pixels of two images, `stride` elements apart; zeros if there is no second image.
struct PairRow {
  const void *first, *second;
  DType dtype;
  std::int64_t stride;
  std::int64_t pixels;
  // Up to two vectors of channels; the second begins `width` after the first: 16 or pair_panel.
  std::int64_t width, channels;
};

// q[v] is where the first pair of a vector of channels goes, null for none; 64 bytes to a pair.
struct PairRowTarget {
  std::byte* q[2];
  std::int64_t pair_bytes;
};

// Factors of the lanes: to the integers of dfp16, and back.
struct PairScales {
  alignas(64) float forth[pair_lanes];
  alignas(64) float back[pair_lanes];
};

struct Dfp16Extent {
  alignas(64) std::uint32_t largest[pair_lanes];  // magnitudes, as bits of f32
  alignas(64) float squares[pair_lanes];          // their sum
};

namespace avx512 {

void dfp16_pair_extent(const PairRow& row, Dfp16Extent* extent);  // of the row alone
void dfp16_add_extent(Dfp16Extent* sum, const Dfp16Extent& extent);
void dfp16_keep_larger(Dfp16Extent* extent, const Dfp16Extent& other);
// Scales for sums of at most `values` values with this extent; for rows of A, or columns of B.
void dfp16_scales(const Dfp16Extent& extent, std::int64_t values, DType dtype, bool rows,
                  PairScales* scales);
void dfp16_pack_row(const PairRow& row, const PairScales& scales, const PairRowTarget& to);
// to[i] += from[i], 16 at a time.
void pair_add(const float* from, std::int64_t count, float* to);

}  // namespace avx512
}  // namespace narrowgauge::cpu
