// SPDX-License-Identifier: Apache-2.0
// What products of bytes share besides their blocks: corrections for zero points, scales, and the
// loop over a panel of columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/int8/int8_blocks.h"
#include "kernels/cpu/int8/int8_gemm.h"

namespace narrowgauge::cpu {

// Rows of `groups` matrices a with `in_group` rows each, every one padded to whole squares.
struct Int8Sizes {
  std::int64_t groups, in_group, columns, depth;
  std::int64_t padded() const { return round_up(in_group, int8_square); }
  std::int64_t padded_columns() const { return round_up(columns, int8_square); }
};

// Zeros, biases and scales in units of the stored values (int8_blocks.h), padded, in a workspace.
struct Int8Terms {
  std::int32_t *row_zeros, *bias, *column_zeros;
  float *row_scales, *column_scales;  // null: y is i32
  std::int32_t y_zero;
  bool y_signed;
  std::int64_t depth;
  bool one_row_zero, one_column_zero;      // the same for all
  bool needs_row_sums, needs_column_sums;  // some zero of the other operand is not 0

  // Computes row_terms of `count` rows from `first` on, from the sums of the stored rows.
  void row_terms(std::int64_t first, std::int64_t count, const std::int32_t* sums,
                 std::int32_t* terms) const;
  // Computes column_terms likewise; the sums become the factors of row zeros.
  void column_terms(std::int64_t first, std::int64_t count, std::int32_t* sums,
                    std::int32_t* terms) const;
};

class Int8TermsPlan {
 public:
  Int8TermsPlan(const Int8Operands& operands, const Int8Quantities& quantities,
                const Int8Sizes& sizes);
  std::int64_t bytes() const;
  Int8Terms load(const Call& call, std::byte* memory) const;
  Int8Form rows() const { return {true, a_signed_ && !offsets_, a_flip()}; }
  Int8Form columns() const { return {false, b_signed_ || offsets_, b_flip()}; }

 private:
  std::uint8_t a_flip() const { return offsets_ && a_signed_ ? 0x80 : 0; }
  std::uint8_t b_flip() const { return offsets_ && !b_signed_ ? 0x80 : 0; }
  void load_scales(const Call& call, Int8Terms& terms) const;

  Int8Quantities quantities_;
  Int8Sizes sizes_;
  bool a_signed_, b_signed_, scaled_, offsets_;
};

// Sums and terms of rows and columns for a finish, if there are any.
struct Int8Place {
  std::int64_t row, column;                  // the first, of the terms
  const std::int32_t *row_sums, *row_terms;  // from the first
  const std::int32_t *column_sums, *column_terms;
};
// Leaves y, pitch, rows and pieces to the caller.
Int8Finish int8_finish(const Int8Terms& terms, const Int8Place& place);

// Multiplies all steps of a strip, in runs of columns that stay in L1. Packed columns end at `end`.
void int8_multiply_runs(const Int8Kernels& kernels, Int8Strip strip, const std::byte* end);

}  // namespace narrowgauge::cpu
