// SPDX-License-Identifier: Apache-2.0
// The inner part of products of 16-bit values in pairs. A unit multiplies two pairs and adds both
// products to a 32-bit sum: VPDPWSSD exactly, on the integers of dfp16 (dfp16_scales_avx512.h);
// VDPBF16PS on bf16 values, in f32.
//
// A row of an operand is a run of values that are summed against another run, cut into blocks of at
// most 256. In dfp16 a block has a scale, by which the sums of its products are multiplied before
// they are added up in f32. bf16 has no scales; its sums begin anew with each block too, which
// rounds less than one long sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t pair_block = 256;   // values whose products are added up at once
inline constexpr std::int64_t pair_half = 7;      // most rows of half a tile
inline constexpr std::int64_t pair_columns = 32;  // of a tile
inline constexpr std::int64_t pair_panel = 14;    // rows that are packed side by side, in 16 lanes
inline constexpr std::int64_t pair_sums = 2 * pair_half * pair_columns;

// Pairs are neighbours in the sum: a pair of A meets 16 of B. B is [pair][32 or 16 columns], all
// steps one after another; its scales are [block][32].
struct PairStep {
  std::int64_t a;        // bytes from the tile's first pair to the step's
  std::int64_t a_scale;  // from the tile's first scale to the step's
  std::int32_t pairs;
  bool ends_block;  // the sums of the last steps are added up now
};

// What the tiles of a product share. A row of A is `pitch` bytes after the previous one, a pair
// `pair_step` after the previous one.
struct PairProduct {
  const PairStep* steps;
  std::int64_t count;
  std::int64_t pitch, pair_step, scale_pitch;
};

// Two halves of equally many rows, which may overlap. Only dfp16 has scales.
struct PairTile {
  const std::byte* a[2];
  const float* a_scale[2];
  const std::byte* b;
  const float* b_scale;
  float* sums;  // [row][32]
  bool fresh;   // sums hold nothing yet, and there is a step: written, not added to
};

struct PairResult {
  void* y[2];            // the halves' first rows
  std::int64_t pitch;    // elements between rows
  DType dtype;           // f32, f16 or bf16
  std::int64_t skip[2];  // first rows of the halves that others write
  std::int64_t columns;
};

using PairKernel = void (*)(const PairProduct&, const PairTile&);

namespace avx512 {

// Kernels for halves of 1 to 7 rows, and 16 or 32 columns.
PairKernel dfp16_kernel(std::int64_t half, bool wide);
PairKernel bf16_kernel(std::int64_t half, bool wide);
// Stores results; returns how many nonzero ones became zero in f16.
std::int64_t dfp16_store(const PairResult& result, std::int64_t half, const float* sums);
std::int64_t bf16_store(const PairResult& result, std::int64_t half, const float* sums);

}  // namespace avx512
}  // namespace narrowgauge::cpu
