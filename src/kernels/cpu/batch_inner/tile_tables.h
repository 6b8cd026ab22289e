// SPDX-License-Identifier: Apache-2.0
// Which blocks of the source meet which of the result in a convolution of batch-inner images,
// forward or data gradient.
#pragma once

#include <vector>

#include "kernels/cpu/batch_inner/batch_inner_convolution.h"
#include "kernels/cpu/core/batch_inner.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t near_weight_bytes = 640 << 10;  // of L2: weights that stay there
// Larger results go past the caches.
inline constexpr std::int64_t streamed_result_bytes = 10'000'000;

// What a convolution on tiles reads and writes: the source is x or dy, the result y or dx. The bias
// is null if there is none; `flushed` is as in Call.
struct TileOperands {
  const void *source, *weights, *bias;
  void *result, *workspace;
  std::int64_t* flushed = nullptr;
};

// The epilogue with its arrays of sums moved by `offset`.
Epilogue part_of(const Epilogue& whole, std::int64_t offset);

class TileTables {
 public:
  explicit TileTables(const BatchInnerConvolution& convolution);
  // Tables without a product: source and result are images of these dims.
  TileTables(const Dims& images, DType image);
  TileTables(const TileTables&) = delete;
  TileTables& operator=(const TileTables&) = delete;

  // The plan is valid as long as this object.
  const TilePlan& plan() const { return plan_; }
  const amx::WeightBlocks& weights() const { return weights_; }

 private:
  struct AxisTaps;
  static AxisTaps forward_taps(const BatchInnerConvolution& c, std::size_t axis);
  static AxisTaps backward_taps(const BatchInnerConvolution& c, std::size_t axis);
  void set_rows(const AxisTaps& rows);
  void set_columns(const AxisTaps& columns);

  bool backward_;
  TilePlan plan_;
  amx::WeightBlocks weights_{};
  std::vector<std::int32_t> row_begin_, column_begin_, order_;
  std::vector<RowTap> rows_;
  std::vector<ColumnRun> columns_;
};

}  // namespace narrowgauge::cpu
