// SPDX-License-Identifier: Apache-2.0
// Convolution forward and data gradient on AMX tiles, for images in batch-inner blocks, with the
// epilogue before the store. Bits do not depend on the number of threads.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/batch_inner/batch_inner_convolution.h"
#include "kernels/cpu/batch_inner/tile_tables.h"
#include "kernels/cpu/core/batch_inner.h"
#include "kernels/cpu/normalization/batch_norm.h"

namespace narrowgauge::cpu {

class SplitConvolution;

class TileConvolution {
 public:
  explicit TileConvolution(const BatchInnerConvolution& convolution);
  // A convolution without a product, whose epilogue takes the source, images of these dims.
  TileConvolution(const Dims& images, DType image);
  ~TileConvolution();
  TileConvolution(const TileConvolution&) = delete;
  TileConvolution& operator=(const TileConvolution&) = delete;

  bool has_bias() const { return bias_.has_value(); }
  std::int64_t workspace() const;

  // The epilogue's sums and shifts are arrays of part_floats() values, one part for each piece.
  void run(const TileOperands& operands, const Epilogue& epilogue) const;
  std::int64_t part_floats() const {
    return static_cast<std::int64_t>(patches_.size()) * channels();
  }

  // The statistics of what was stored, from the moments of the parts.
  void join(const PieceMoments& moments, float epsilon, const BatchStatistics& statistics) const;
  // Sums the parts of each channel in their order.
  void join(const float* parts, double* sums) const;

 private:
  void choose_pieces();
  std::int64_t channels() const { return plan_.result.blocks * 32; }
  std::int64_t rows() const { return plan_.result.groups * plan_.result.height; }
  std::int64_t source_bytes(const Patch& patch) const;
  void cut(std::int64_t rows, std::int64_t columns);
  void choose_patches();
  std::int64_t weight_bytes() const {
    return plan_.result.blocks * plan_.taps * plan_.source.blocks * block_bytes;
  }

  TileTables tables_;
  const TilePlan& plan_;
  std::optional<DType> bias_;
  std::unique_ptr<const SplitConvolution> split_;  // of f32 and f16
  std::vector<Patch> patches_;
  std::int64_t blocks_in_piece_ = 1;
  bool pixel_by_pixel_ = false, stream_ = false;
};

}  // namespace narrowgauge::cpu
