// SPDX-License-Identifier: Apache-2.0
// Cut sums of tensor cores (Summation::truncated) for blocks of a few rows by 16 columns.
#pragma once

#include <cstdint>

#include "narrowgauge/matrix_unit.h"

namespace narrowgauge::sim {

inline constexpr std::int64_t cut_rows = 4;

// Finite operands in the form of split_line(): rows [cut_rows][depth], columns [depth][16]. `sums`
// [cut_rows][16] hold c on entry and d on return, f16 results as f32.
struct CutBlock {
  const UnitModel& model;
  std::int64_t depth;
  const float *row_significands, *row_exponents;
  const float *column_significands, *column_exponents;
  float* sums;
};

namespace avx512 {
void add_cut_sums(const CutBlock& block);
}  // namespace avx512

}  // namespace narrowgauge::sim
