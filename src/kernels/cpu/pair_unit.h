// SPDX-License-Identifier: Apache-2.0
// What a unit of pair_tile.h needs beside its products: how operands become pairs of 16 bits.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/cpu/contraction.h"
#include "kernels/cpu/pair_products.h"
#include "kernels/cpu/pair_rows.h"
#include "kernels/cpu/pair_tile.h"

namespace narrowgauge::cpu {

// Runs of values that are summed, one behind another, and where they go.
struct PairSource {
  const void* data;
  DType dtype;
  // Elements between rows; between the values of a sum where these are columns.
  std::int64_t stride;
};

// Rows of values next to each other: q [row][row_bytes], zero behind the values up to a multiple
// of 64 bytes; scales [row][block].
struct RowPairs {
  std::byte* q;
  std::int64_t row_bytes;
  float* scales;
};

// At most 32 columns of B.
struct ColumnPairs {
  std::byte* q;
  float* scales;
  bool wide;
};

// Up to 28 rows as two panels: q [pair][16 lanes] with 16 scales, the second panel `panel_bytes`
// and its scales `panel_scales` behind the first.
struct PanelPairs {
  std::byte* q;
  std::int64_t panel_bytes;
  float* scales;
  std::int64_t panel_scales;
};

// A unit without scales leaves them as they are.
struct PairUnit {
  std::string_view implementation;
  bool has_scales;

  PairKernel (*kernel)(std::int64_t half, bool wide);
  std::int64_t (*store)(const PairResult&, std::int64_t half, const float* sums);
  // Rows of `depth` values each.
  void (*rows)(const PairSource&, std::int64_t rows, std::int64_t depth, const RowPairs&);
  // The same rows as columns of B. `scratch` has room for 32 rows of `depth`, rounded up to 32, and
  // their scales.
  void (*rows_as_columns)(const PairSource&, std::int64_t columns, std::int64_t depth,
                          const ColumnPairs&, std::byte* scratch);
  // One block of columns that lie next to each other, `depth` values of each `stride` apart.
  void (*columns_block)(const PairSource&, std::int64_t columns, std::int64_t depth,
                        const ColumnPairs&);
  // One block of rows that lie so.
  void (*panels_block)(const PairSource&, std::int64_t rows, std::int64_t depth, const PanelPairs&);
  void (*row)(const PairRow&, const PairScales&, const PairRowTarget&);
};

const PairUnit& pair_unit(PairFormat format);

// Why the CPU, or the dtypes, are none for the format; "" where they are.
std::string pair_format_reason(PairFormat format, std::array<const View*, 2> inputs,
                               const View& output);

namespace avx512 {

extern const PairUnit dfp16_unit;  // of f32, f16 and bf16
extern const PairUnit bf16_unit;   // of bf16

}  // namespace avx512
}  // namespace narrowgauge::cpu
