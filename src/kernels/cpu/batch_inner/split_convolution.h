// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 and f16 images in batch-inner blocks, from products of split values
// (split.h): forward and data gradient. Rows of the source are split into strips that stay in L2
// while the tiles use them. The same bits for any number of threads.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/batch_inner/tile_tables.h"

namespace narrowgauge::cpu {

// Does what TileConvolution does, for images of f32 or f16.
class SplitConvolution {
 public:
  explicit SplitConvolution(const BatchInnerConvolution& convolution);
  SplitConvolution(const SplitConvolution&) = delete;
  SplitConvolution& operator=(const SplitConvolution&) = delete;

  std::int64_t workspace() const;
  void run(const TileOperands& operands, const Epilogue& epilogue) const;
  // The patches of the result; the epilogue's sums have a part for each.
  const std::vector<Patch>& patches() const { return patches_; }

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
  };
  using Ranges = std::vector<Range>;
  static void make_ascending(Ranges& ranges);
  static Ranges seen_rows(const TilePlan& plan);
  static Ranges seen_columns(const TilePlan& plan);
  static Range seen_by(const Ranges& seen, std::int64_t begin, std::int64_t end);
  static std::int64_t most_seen(const Ranges& seen, std::int64_t count);
  void find_needed();
  void choose_tile();
  void choose_patches();
  void run_piece(const TileOperands& operands, std::int64_t index, TilePiece piece) const;
  void split_row(const void* source, std::int64_t group, std::int64_t row,
                 const SplitRows& to) const;
  std::int64_t rows() const { return plan_.result.groups * plan_.result.height; }
  std::int64_t weight_bytes() const;
  std::int64_t bias_bytes() const { return (plan_.result.blocks * 32 * 4 + 63) / 64 * 64; }
  std::int64_t pixel_bytes() const;
  std::int64_t strip_size() const { return slots_ * columns_ * pixel_bytes(); }
  std::int64_t block_pieces() const;
  std::int64_t pieces() const;
  std::int64_t workers() const;

  std::optional<DType> bias_;
  TileTables tables_;
  const TilePlan& plan_;
  std::int64_t threads_;
  Ranges seen_rows_, seen_columns_;  // of the source, for each of the result
  std::vector<bool> needed_rows_, needed_columns_;
  std::int64_t tile_rows_ = 1, tile_columns_ = 1;  // of the result: split for these at a time
  std::int64_t slots_ = 1, columns_ = 1;           // of a strip
  std::vector<Patch> patches_;
  std::int64_t blocks_in_piece_ = 1;
  bool pixel_by_pixel_ = false, stream_ = false;
};

}  // namespace narrowgauge::cpu
