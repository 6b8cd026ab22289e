// SPDX-License-Identifier: Apache-2.0
// What a unit of pair_tile.h needs besides products: how operands become pairs of 16 bits.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "kernels/cpu/pairs/pair_rows.h"
#include "kernels/cpu/pairs/pair_tile.h"

namespace narrowgauge::cpu {

// Runs of values that are summed, one after another.
struct PairSource {
  const void* data;
  DType dtype;
  // Elements between rows; for columns, between the values of a sum.
  std::int64_t stride;
};

// Rows with contiguous values: q [row][row_bytes], filled with zeros up to a multiple of 64 bytes;
// scales [row][block].
struct RowPairs {
  std::byte* q;
  std::int64_t row_bytes;
  float* scales;
};

// Where at most 32 columns of B are packed.
struct ColumnPairs {
  std::byte* q;
  float* scales;
  bool wide;
};

// Where up to 28 rows are packed as two panels: q [pair][16 lanes] with 16 scales; the second panel
// begins `panel_bytes` after the first, its scales `panel_scales` after.
struct PanelPairs {
  std::byte* q;
  std::int64_t panel_bytes;
  float* scales;
  std::int64_t panel_scales;
};

// How a unit packs, multiplies and stores. A unit without scales leaves scales untouched.
struct PairUnit {
  std::string_view implementation;
  KernelFacts facts;
  bool has_scales;

  PairKernel (*kernel)(std::int64_t half, bool wide);
  std::int64_t (*store)(const PairResult&, std::int64_t half, const float* sums);
  // Packs rows of `depth` values each.
  void (*rows)(const PairSource&, std::int64_t rows, std::int64_t depth, const RowPairs&);
  // Packs such rows as columns of B. `scratch` has room for 32 rows of `depth`, rounded up to 32,
  // and their scales.
  void (*rows_as_columns)(const PairSource&, std::int64_t columns, std::int64_t depth,
                          const ColumnPairs&, std::byte* scratch);
  // Packs one block of neighbouring columns, the `depth` values of each `stride` apart.
  void (*columns_block)(const PairSource&, std::int64_t columns, std::int64_t depth,
                        const ColumnPairs&);
  // Packs one block of neighbouring rows, the values of each `stride` apart, into panels.
  void (*panels_block)(const PairSource&, std::int64_t rows, std::int64_t depth, const PanelPairs&);
  void (*row)(const PairRow&, const PairScales&, const PairRowTarget&);
};

const PairUnit& pair_unit(PairFormat format);

// Why this CPU or these dtypes cannot use the format; "" if they can.
std::string pair_format_reason(PairFormat format, std::array<const View*, 2> inputs,
                               const View& output, Isa isa);

namespace avx512 {

extern const PairUnit dfp16_unit;  // of f32, f16 and bf16
extern const PairUnit bf16_unit;   // of bf16

}  // namespace avx512
}  // namespace narrowgauge::cpu
