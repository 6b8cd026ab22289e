// SPDX-License-Identifier: Apache-2.0
// The loops of a TilePiece over the tiles, for each image format and each epilogue. Only for
// *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/batch_inner/split_tiles.amx.h"
#include "kernels/cpu/batch_inner/tile_epilogue.amx.h"

namespace narrowgauge::cpu::amx {

template <class Row>
class TileLoop {
  using Format = typename Row::Format;
  static constexpr bool split = Format::is_split;
  static constexpr std::int64_t block_size = split ? split_block_bytes : block_bytes;

 public:
  TileLoop(const TilePlan& plan, const TilePiece& piece)
      : plan_(plan), piece_(piece), patch_(piece.patch) {}

  void run() {
    if (piece_.pixel_by_pixel)
      pixel_by_pixel();
    else
      block_by_block();
    finish_last();
    if (piece_.stream) _mm_sfence();
  }

 private:
  void pixel_by_pixel() {
    for (std::int64_t row = patch_.row_begin; row < patch_.row_end; ++row)
      for (std::int64_t x = patch_.column_begin; x < patch_.column_end; ++x)
        for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
          one_block<Reading::reused>(row, x, block);
  }

  void block_by_block() {
    for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
      for (std::int64_t row = patch_.row_begin; row < patch_.row_end; ++row)
        for (std::int64_t x = patch_.column_begin; x < patch_.column_end; ++x)
          one_block<Reading::streamed>(row, x, block);
  }

  // Multiplies a block while the previous one is finished.
  template <Reading reading>
  [[gnu::always_inline]] void one_block(std::int64_t row, std::int64_t x, std::int64_t block) {
    const std::int64_t at = (row * plan_.result.width + x) * plan_.result.blocks + block;
    const BlockPlace place{at * block_rows * Format::row_bytes, block * block_rows,
                           piece_.begins && row == patch_.row_begin && x == patch_.column_begin};
    zero_sums();
    if (begun_) {
      Paced<Row> work(piece_, {sums_[scratch_], last_, place});
      multiply<reading>(row, x, block, work);
    } else {
      NothingYet nothing;
      multiply<reading>(row, x, block, nothing);
    }
    begun_ = true;
    last_ = place;
    scratch_ ^= 1;
    store_sums(sums_[scratch_]);
  }

  template <Reading reading, class Work>
  [[gnu::always_inline]] void multiply(std::int64_t row, std::int64_t x, std::int64_t block,
                                       Work& work) {
    const BatchInnerImages& source = plan_.source;
    const std::int64_t group = row / plan_.result.height, y = row % plan_.result.height;
    const std::int32_t *rows = plan_.row_begin + y, *columns = plan_.column_begin + x;
    const std::int64_t most = (rows[1] - rows[0]) * (columns[1] - columns[0]) * source.blocks;
    const int per_step = most > 0 ? static_cast<int>((block_rows + most - 1) / most) : 0;
    for (std::int32_t i = rows[0]; i < rows[1]; ++i) {
      const RowTap& tap = plan_.rows[i];
      const std::byte* from = source_row(group, tap.source);
      const std::int64_t first_tap = block * plan_.taps + tap.tap * plan_.kernel_width;
      for (std::int32_t j = columns[0]; j < columns[1]; ++j) {
        const ColumnRun& run = plan_.columns[j];
        const std::byte* a = from + run.source * source.blocks * block_size;
        const std::byte* b = piece_.weights + (first_tap + run.tap) * source.blocks * block_size;
        const std::int64_t steps = run.length * source.blocks;
        if constexpr (split)
          multiply_split_run<reading>(a, block_size, b, block_size, steps, work, per_step);
        else
          multiply_run<reading>(a, block_size, b, block_size, steps, work, per_step);
      }
    }
    work.rest();
  }

  const std::byte* source_row(std::int64_t group, std::int64_t y) const {
    if constexpr (split) {
      const SplitRows& rows = piece_.split;
      return rows.blocks +
             (y % rows.slots * rows.columns - rows.first_column) * plan_.source.blocks * block_size;
    } else {
      return piece_.source + plan_.source.row(group, y) * block_size;
    }
  }

  void finish_last() {
    if (begun_) Paced<Row>(piece_, {sums_[scratch_], last_, last_}).rest();
  }

  const TilePlan& plan_;
  const TilePiece& piece_;
  const Patch patch_;
  BlockPlace last_;
  bool begun_ = false;
  int scratch_ = 0;
  alignas(64) float sums_[2][sums_in_block];
};

template <class Row>
void pass_blocks(const TilePlan& plan, const TilePiece& piece) {
  using Format = typename Row::Format;
  constexpr std::int64_t bytes = block_rows * Format::row_bytes;
  alignas(64) float values[sums_in_block];
  const std::int64_t row_blocks = plan.result.row_blocks();
  const std::int64_t begin = piece.patch.row_begin * row_blocks;
  for (std::int64_t i = begin; i < piece.patch.row_end * row_blocks; ++i) {
    const std::byte* from = piece.source + i * bytes;
    for (std::int64_t r = 0; r < block_rows; ++r)
      for (int k = 0; k < 2; ++k)
        _mm512_store_ps(values + r * block_rows + 16 * k,
                        Format::half(from + r * Format::row_bytes, k));
    const std::int64_t block = i % plan.result.blocks;
    const bool first = i - begin < plan.result.blocks;
    const BlockPlace place{i * bytes, block * block_rows, first};
    BlockPlace next = place;
    next.offset += bytes;
    Paced<Row>(piece, {values, place, next}).rest();
  }
  if (piece.stream) _mm_sfence();
}

template <class Format>
void convolve_rows(const TilePlan& plan, const TilePiece& piece) {
  const TileScope tiles;
  before_tile_loads();
  with_row<Format>(piece, [&]<class Row>() { TileLoop<Row>(plan, piece).run(); });
}

}  // namespace narrowgauge::cpu::amx

#endif
