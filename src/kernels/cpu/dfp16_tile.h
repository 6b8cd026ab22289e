// SPDX-License-Identifier: Apache-2.0
// Block dynamic fixed point, the inner part: int16 blocks and their scales, multiplied by VPDPWSSD.
//
// A row of an operand (a run of values that are summed against another run) is cut into blocks of
// at most 256. A block is x = q / s with q = rint(s x) in int16 and
//   s = min(46300 / |x|, 32766 / max|x|), |x| the block's Euclidean norm,
// rounded down to a power of two for f16, whose large values then stay exact. Two blocks are
// multiplied and added up in int32 without any rounding, then scaled and added up in f32.
//
// No int32 can overflow: rint moves each of at most 256 values by at most 1/2, so that
//   |q| <= s |x| (1 + e) + sqrt(256) / 2 <= 46300 (1 + e) + 8 < 46340,
// e < 1e-5 being what f32 loses in 256 squares, a root and a quotient. By Cauchy and Schwarz every
// partial sum of products, in any order, is at most |qa| |qb| < 46340^2 < 2^31. A block that takes
// part in sums over several subsets of its values is covered by the norm of the whole. Each q fits
// int16 by the other bound. (Das et al., Mixed Precision Training of CNNs using Integer Operations,
// ICLR 2018, train so with one exponent for a tensor.)
//
// A block with a value that is not finite gets the scale NaN: it makes NaN of every sum that it is
// part of. Its int32 may wrap; nobody sees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t dfp16_block = 256;   // values under one scale
inline constexpr std::int64_t dfp16_half = 7;      // most rows of half a tile
inline constexpr std::int64_t dfp16_columns = 32;  // of a tile
inline constexpr std::int64_t dfp16_panel = 14;    // rows that are packed side by side, in 16 lanes
inline constexpr std::int64_t dfp16_sums = 2 * dfp16_half * dfp16_columns;

// int16 values go in pairs that are neighbours in the sum: an int32 of A times 16 of B.
// B: [pair][32 or 16 columns], all steps one after another; its scales [block][32].
struct Dfp16Step {
  std::int64_t a;        // bytes from the tile's first pair to the step's
  std::int64_t a_scale;  // from the tile's first scale to the step's
  std::int32_t pairs;
  bool ends_block;  // the sums of the last steps are scaled now
};

// What the tiles of a product share. A row of A lies `pitch` bytes behind the one before it, a pair
// `pair_step` behind the one before.
struct Dfp16Product {
  const Dfp16Step* steps;
  std::int64_t count;
  std::int64_t pitch, pair_step, scale_pitch;
};

// Two halves of as many rows each; halves may overlap.
struct Dfp16Tile {
  const std::byte* a[2];
  const float* a_scale[2];
  const std::byte* b;
  const float* b_scale;
  float* sums;  // [row][32], added to
};

struct Dfp16Result {
  void* y[2];            // the halves' first rows
  std::int64_t pitch;    // elements between rows
  DType dtype;           // f32 or f16
  std::int64_t skip[2];  // first rows of the halves that others write
  std::int64_t columns;
};

// Runs of values that are summed, one behind another, and where they go.
struct Dfp16Source {
  const void* data;
  DType dtype;  // f32 or f16
  std::int64_t
      stride;  // elements between rows; between the values of a sum where these are columns
};

namespace avx512 {

using Dfp16Kernel = void (*)(const Dfp16Product&, const Dfp16Tile&);
// For halves of 1 to 7 rows, and 16 or 32 columns.
Dfp16Kernel dfp16_kernel(std::int64_t half, bool wide);
// Returns how many results that were not zero became zero.
std::int64_t dfp16_store(const Dfp16Result& result, std::int64_t half, const float* sums);

// Scales of rows are multiplied by 2^-15 and those of columns by 2^15: their product with a sum of
// up to 2^31 stays in f32's range on the way.
//
// Rows of `depth` values each, next to each other: q [row][row_bytes], zero behind the values up to
// a multiple of 64 bytes; scales [row][block].
struct Dfp16Rows {
  std::byte* q;
  std::int64_t row_bytes;
  float* scales;
};
void dfp16_rows(const Dfp16Source& source, std::int64_t rows, std::int64_t depth,
                const Dfp16Rows& to);
// The same rows as columns of B: at most 32. `scratch` has room for 32 rows of `depth`, rounded up
// to 32, and their scales.
struct Dfp16Columns {
  std::byte* q;
  float* scales;
  bool wide;
};
void dfp16_rows_as_columns(const Dfp16Source& source, std::int64_t columns, std::int64_t depth,
                           const Dfp16Columns& to, std::byte* scratch);
// One block of columns that lie next to each other, `depth` values of each `stride` apart.
void dfp16_columns_block(const Dfp16Source& source, std::int64_t columns, std::int64_t depth,
                         const Dfp16Columns& to);
// One block of up to 28 rows that lie so, as two panels: q [pair][16 lanes] with 16 scales, the
// second panel `panel_bytes` and its scales `panel_scales` behind the first.
struct Dfp16Panels {
  std::byte* q;
  std::int64_t panel_bytes;
  float* scales;
  std::int64_t panel_scales;
};
void dfp16_panels_block(const Dfp16Source& source, std::int64_t rows, std::int64_t depth,
                        const Dfp16Panels& to);

}  // namespace avx512
}  // namespace narrowgauge::cpu
