// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/split_convolution.h"

#include <algorithm>
#include <atomic>

#include "base/threads/parallel.h"
#include "kernels/cpu/batch_inner/split.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t split_strip_bytes = 1400 << 10;  // of L2: split rows beside them
constexpr std::int64_t fewest_pieces = 12;

// Treats all pixels as one column if the kernel has one pixel and sees all of them.
BatchInnerConvolution as_pixels(BatchInnerConvolution c) {
  if (c.w[2] != 1 || c.w[3] != 1 || c.x[2] != c.y[2] || c.x[3] != c.y[3]) return c;
  for (const Dims* sizes : {&c.window.pads_begin, &c.window.pads_end})
    if (*sizes != Dims{0, 0}) return c;
  for (Dims* dims : {&c.x, &c.y}) *dims = {(*dims)[0], (*dims)[1], (*dims)[2] * (*dims)[3], 1};
  c.window.strides = {1, 1};
  return c;
}

}  // namespace

SplitConvolution::SplitConvolution(const BatchInnerConvolution& c)
    : bias_(c.bias),
      tables_(as_pixels(c)),
      plan_(tables_.plan()),
      threads_(c.threads > 0 ? c.threads : thread_count()),
      seen_rows_(seen_rows(plan_)),
      seen_columns_(seen_columns(plan_)) {
  find_needed();
  choose_tile();
  choose_patches();
}

std::int64_t SplitConvolution::weight_bytes() const {
  return plan_.result.blocks * plan_.taps * plan_.source.blocks * split_block_bytes;
}
std::int64_t SplitConvolution::pixel_bytes() const {
  return plan_.source.blocks * split_block_bytes;
}
std::int64_t SplitConvolution::block_pieces() const {
  return ceil_divide(plan_.result.blocks, blocks_in_piece_);
}
std::int64_t SplitConvolution::pieces() const {
  return static_cast<std::int64_t>(patches_.size()) * block_pieces();
}
std::int64_t SplitConvolution::workers() const { return std::min(threads_, pieces()); }

std::int64_t SplitConvolution::workspace() const {
  return weight_bytes() + bias_bytes() + workers() * strip_size();
}

void SplitConvolution::run(const TileOperands& operands, const Epilogue& epilogue) const {
  auto* const weights = static_cast<std::byte*>(operands.workspace);
  auto* const bias = reinterpret_cast<float*>(weights + weight_bytes());
  std::byte* const strips = weights + weight_bytes() + bias_bytes();
  parallel_for(plan_.result.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    amx::pack_split_weights(plan_.source, static_cast<const std::byte*>(operands.weights),
                            tables_.weights(), begin, end, weights);
  });
  load_bias(bias_, operands.bias, plan_.result.blocks * 32, bias);
  std::atomic<std::int64_t> next = 0, flushed = 0;
  parallel_for(workers(), 1, [&](std::int64_t worker, std::int64_t) {
    std::int64_t own = 0;
    TilePiece piece{nullptr,
                    weights,
                    static_cast<std::byte*>(operands.result),
                    bias,
                    {},
                    0,
                    0,
                    pixel_by_pixel_,
                    stream_,
                    epilogue,
                    {strips + worker * strip_size(), slots_, 0, 0},
                    true,
                    &own};
    for (std::int64_t i = next++; i < pieces(); i = next++) run_piece(operands, i, piece);
    flushed += own;
  });
  if (operands.flushed) std::atomic_ref(*operands.flushed) += flushed;
}

// Computes one tile of rows at a time, splitting the source rows it sees that are not split yet.
void SplitConvolution::run_piece(const TileOperands& operands, std::int64_t index,
                                 TilePiece piece) const {
  const std::int64_t part = index / block_pieces();
  const Patch& patch = patches_[static_cast<std::size_t>(part)];
  piece.block_begin = index % block_pieces() * blocks_in_piece_;
  piece.block_end = std::min(plan_.result.blocks, piece.block_begin + blocks_in_piece_);
  piece.epilogue = part_of(piece.epilogue, part * plan_.result.blocks * 32);
  const Range columns = seen_by(seen_columns_, patch.column_begin, patch.column_end);
  piece.split.first_column = columns.begin;
  piece.split.columns = columns.size();
  piece.patch = patch;
  for (std::int64_t row = patch.row_begin, split = 0; row < patch.row_end;
       row = piece.patch.row_end) {
    const std::int64_t group = row / plan_.result.height, y = row % plan_.result.height;
    piece.begins = row == patch.row_begin;
    piece.patch.row_begin = row;
    piece.patch.row_end =
        std::min({patch.row_end, row + tile_rows_, (group + 1) * plan_.result.height});
    const Range seen = seen_by(seen_rows_, y, y + piece.patch.row_end - row);
    if (y == 0 || piece.begins) split = seen.begin;
    for (std::int64_t r = std::max(split, seen.begin); r < seen.end; ++r)
      split_row(operands.source, group, r, piece.split);
    split = std::max(split, seen.end);
    amx::convolve(plan_, piece);
  }
}

void SplitConvolution::split_row(const void* source, std::int64_t group, std::int64_t row,
                                 const SplitRows& to) const {
  if (!needed_rows_[static_cast<std::size_t>(row)]) return;
  const std::int64_t blocks = plan_.source.blocks, end = to.first_column + to.columns;
  std::byte* const slot = to.blocks + row % to.slots * to.columns * pixel_bytes();
  for (std::int64_t x = to.first_column; x < end;) {
    std::int64_t next = x;
    while (next < end && needed_columns_[static_cast<std::size_t>(next)]) ++next;
    const std::int64_t from = plan_.source.row(group, row) + x * blocks;
    amx::split_blocks(plan_.source,
                      static_cast<const std::byte*>(source) + from * plan_.source.bytes_in_block(),
                      (next - x) * blocks, slot + (x - to.first_column) * pixel_bytes());
    x = next + 1;
  }
}

// Widens ranges so that their beginnings and ends both ascend. Dilations can make a place see less
// than the one before it.
void SplitConvolution::make_ascending(Ranges& ranges) {
  std::int64_t end = 0, begin = ranges.back().begin;
  for (Range& range : ranges) range.end = end = std::max(end, range.end);
  for (std::size_t i = ranges.size(); i-- > 0;)
    ranges[i].begin = begin = std::min(begin, ranges[i].begin);
}

SplitConvolution::Ranges SplitConvolution::seen_rows(const TilePlan& plan) {
  Ranges seen;
  for (std::int64_t y = 0; y < plan.result.height; ++y) {
    Range range{plan.source.height, 0};
    for (std::int32_t i = plan.row_begin[y]; i < plan.row_begin[y + 1]; ++i) {
      range.begin = std::min<std::int64_t>(range.begin, plan.rows[i].source);
      range.end = std::max<std::int64_t>(range.end, plan.rows[i].source + 1);
    }
    seen.push_back(range);
  }
  make_ascending(seen);
  return seen;
}

SplitConvolution::Ranges SplitConvolution::seen_columns(const TilePlan& plan) {
  Ranges seen;
  for (std::int64_t x = 0; x < plan.result.width; ++x) {
    Range range{plan.source.width, 0};
    for (std::int32_t i = plan.column_begin[x]; i < plan.column_begin[x + 1]; ++i) {
      const ColumnRun& run = plan.columns[i];
      range.begin = std::min<std::int64_t>(range.begin, run.source);
      range.end = std::max<std::int64_t>(range.end, run.source + run.length);
    }
    seen.push_back(range);
  }
  make_ascending(seen);
  return seen;
}

// The range that [begin, end) see together, and the most that `count` neighbours see.
SplitConvolution::Range SplitConvolution::seen_by(const Ranges& seen, std::int64_t begin,
                                                  std::int64_t end) {
  return {seen[static_cast<std::size_t>(begin)].begin, seen[static_cast<std::size_t>(end - 1)].end};
}
std::int64_t SplitConvolution::most_seen(const Ranges& seen, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(seen.size());
  std::int64_t most = 1;
  for (std::int64_t i = 0; i < size; ++i)
    most = std::max(most, seen_by(seen, i, std::min(size, i + count)).size());
  return most;
}

// Finds the needed rows and columns: strides leave some that nobody sees.
void SplitConvolution::find_needed() {
  needed_rows_.resize(static_cast<std::size_t>(plan_.source.height));
  needed_columns_.resize(static_cast<std::size_t>(plan_.source.width));
  for (std::int32_t i = 0; i < plan_.row_begin[plan_.result.height]; ++i)
    needed_rows_[static_cast<std::size_t>(plan_.rows[i].source)] = true;
  for (std::int32_t i = 0; i < plan_.column_begin[plan_.result.width]; ++i)
    for (std::int32_t x = 0; x < plan_.columns[i].length; ++x)
      needed_columns_[static_cast<std::size_t>(plan_.columns[i].source + x)] = true;
}

// Chooses the tile whose strip stays in L2 and that costs least, in cycles per pixel: reading the
// weights from L3 if they are large, and splitting what neighbouring tiles split too.
void SplitConvolution::choose_tile() {
  constexpr double block_cycles = 250, cycle_bytes = 8;
  const bool far = weight_bytes() > near_weight_bytes;
  double least = 0;
  std::int64_t smallest = 0;
  for (std::int64_t parts = 1; parts <= plan_.result.width; ++parts) {
    const std::int64_t columns = ceil_divide(plan_.result.width, parts);
    const std::int64_t width = most_seen(seen_columns_, columns);
    for (std::int64_t count = 1; count <= std::min<std::int64_t>(32, plan_.result.height);
         ++count) {
      const std::int64_t height = most_seen(seen_rows_, count);
      const std::int64_t bytes = height * width * pixel_bytes();
      const auto pixels = double(count * columns);
      const double fresh = double(count * plan_.source.height) / double(plan_.result.height);
      const double cost = ((far ? double(weight_bytes()) / cycle_bytes : 0) +
                           block_cycles * double(plan_.source.blocks) * fresh * double(width)) /
                          pixels;
      const bool fits = bytes <= split_strip_bytes;
      const bool first = smallest == 0;
      const bool better = fits ? smallest > split_strip_bytes || cost < least : bytes < smallest;
      if (!first && !better) continue;
      tile_rows_ = count;
      tile_columns_ = columns;
      slots_ = height;
      columns_ = width;
      least = cost;
      smallest = bytes;
    }
  }
}

// Uses whole tiles of rows; also shares out blocks if there are few patches.
void SplitConvolution::choose_patches() {
  stream_ = plan_.result.count() * plan_.result.bytes_in_block() >= streamed_result_bytes;
  pixel_by_pixel_ = weight_bytes() <= near_weight_bytes;
  const std::int64_t width = plan_.result.width;
  const std::int64_t across = ceil_divide(width, tile_columns_);
  const std::int64_t usual = std::max<std::int64_t>(1, rows() / fewest_pieces);
  tile_rows_ = std::min(tile_rows_, usual);
  const std::int64_t each = usual / tile_rows_ * tile_rows_;
  for (std::int64_t row = 0; row < rows(); row += each)
    for (std::int64_t part = 0; part < across; ++part) {
      const std::int64_t column = part * tile_columns_;
      patches_.push_back(
          {row, std::min(rows(), row + each), column, std::min(width, column + tile_columns_)});
    }
  const auto count = static_cast<std::int64_t>(patches_.size());
  blocks_in_piece_ = ceil_divide(plan_.result.blocks, ceil_divide(fewest_pieces, count));
}

}  // namespace narrowgauge::cpu
