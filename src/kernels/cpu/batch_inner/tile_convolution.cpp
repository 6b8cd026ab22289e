// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/tile_convolution.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/batch_inner/split_convolution.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

namespace {

constexpr std::int64_t patch_bytes = 1200 << 10;  // of L2: the source of a patch
constexpr std::int64_t usual_pieces = 32;
constexpr std::int64_t least_pieces = 16;  // so that a busy core costs its share

}  // namespace

TileConvolution::TileConvolution(const BatchInnerConvolution& c)
    : tables_(c), plan_(tables_.plan()), bias_(c.bias) {
  if (plan_.source.is_split()) {
    split_ = std::make_unique<const SplitConvolution>(c);
    patches_ = split_->patches();
  } else {
    choose_pieces();
  }
}

TileConvolution::TileConvolution(const Dims& images, DType image)
    : tables_(images, image), plan_(tables_.plan()) {
  choose_pieces();
}

TileConvolution::~TileConvolution() = default;

std::int64_t TileConvolution::workspace() const {
  if (split_) return split_->workspace();
  return round_up(weight_bytes(), 64) + round_up(channels() * 4, 64);
}

void TileConvolution::run(const TileOperands& operands, const Epilogue& epilogue) const {
  if (split_) return split_->run(operands, epilogue);
  auto* packed = static_cast<std::byte*>(operands.workspace);
  auto* bias = reinterpret_cast<float*>(packed + round_up(weight_bytes(), 64));
  const auto* weights = static_cast<const std::byte*>(operands.weights);
  if (plan_.taps > 0)
    parallel_for(plan_.result.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      amx::pack_weights(weights, tables_.weights(), begin, end, packed);
    });
  load_bias(bias_, operands.bias, channels(), bias);
  const TilePiece whole{static_cast<const std::byte*>(operands.source),
                        packed,
                        static_cast<std::byte*>(operands.result),
                        bias,
                        {},
                        0,
                        plan_.result.blocks,
                        pixel_by_pixel_,
                        stream_};
  const std::int64_t block_pieces = ceil_divide(plan_.result.blocks, blocks_in_piece_);
  const auto pieces = static_cast<std::int64_t>(patches_.size()) * block_pieces;
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t flushed = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      TilePiece piece = whole;
      piece.flushed = &flushed;
      piece.patch = patches_[static_cast<std::size_t>(i / block_pieces)];
      piece.block_begin = i % block_pieces * blocks_in_piece_;
      piece.block_end = std::min(plan_.result.blocks, piece.block_begin + blocks_in_piece_);
      piece.epilogue = part_of(epilogue, i / block_pieces * channels());
      plan_.taps > 0 ? amx::convolve(plan_, piece) : amx::pass_on(plan_, piece);
    }
    if (operands.flushed && flushed > 0) std::atomic_ref(*operands.flushed) += flushed;
  });
}

// Joins the moments of the pieces: Chan, Golub, LeVeque 1979.
void TileConvolution::join(const PieceMoments& moments, float epsilon,
                           const BatchStatistics& statistics) const {
  for (std::int64_t c = 0; c < channels(); ++c) {
    double mean = 0, squares = 0, before = 0;
    for (std::size_t i = 0; i < patches_.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) * channels() + c;
      const auto count = static_cast<double>(patches_[i].pixels() * 32);
      const double sum = double(moments.sum[at]);
      const double delta = double(moments.shift[at]) + sum / count - mean;
      const double share = count / (before + count);
      mean += delta * share;
      const double own = double(moments.squares[at]) - sum * sum / count;
      squares += (own < 0 ? 0 : own) + delta * delta * before * share;
      before += count;
    }
    const double variance = squares / before;
    if (statistics.mean) statistics.mean[c] = float(mean);
    if (statistics.variance) statistics.variance[c] = float(variance);
    if (statistics.inverse_std)
      statistics.inverse_std[c] = float(1.0 / std::sqrt(variance + double(epsilon)));
    if (statistics.mean_low) statistics.mean_low[c] = float(mean - double(float(mean)));
  }
}

void TileConvolution::join(const float* parts, double* sums) const {
  for (std::int64_t c = 0; c < channels(); ++c) {
    sums[c] = 0;
    for (std::int64_t at = c; at < part_floats(); at += channels()) sums[c] += double(parts[at]);
  }
}

void TileConvolution::cut(std::int64_t rows_each, std::int64_t columns_each) {
  patches_.clear();
  const std::int64_t width = plan_.result.width;
  for (std::int64_t row = 0; row < rows(); row += rows_each)
    for (std::int64_t column = 0; column < width; column += columns_each)
      patches_.push_back(
          {row, std::min(rows(), row + rows_each), column, std::min(width, column + columns_each)});
}

// The bytes of source that a patch sees.
std::int64_t TileConvolution::source_bytes(const Patch& patch) const {
  std::int64_t first_row = plan_.source.height, last_row = -1;
  for (auto i = plan_.row_begin[patch.row_begin]; i < plan_.row_begin[patch.row_end]; ++i) {
    first_row = std::min<std::int64_t>(first_row, plan_.rows[i].source);
    last_row = std::max<std::int64_t>(last_row, plan_.rows[i].source);
  }
  std::int64_t first = plan_.source.width, last = -1;
  for (auto i = plan_.column_begin[patch.column_begin]; i < plan_.column_begin[patch.column_end];
       ++i) {
    const ColumnRun& run = plan_.columns[i];
    first = std::min<std::int64_t>(first, run.source);
    last = std::max<std::int64_t>(last, run.source + run.length - 1);
  }
  if (last_row < first_row || last < first) return 0;
  return (last_row - first_row + 1) * (last - first + 1) * plan_.source.blocks * block_bytes;
}

// Chooses patches whose source stays in L2 while weights stream, with the fewest bytes from beyond.
void TileConvolution::choose_patches() {
  const std::int64_t height = plan_.result.height, width = plan_.result.width;
  double least = -1;
  std::int64_t best_rows = 1, best_columns = 1;
  for (std::int64_t columns = width; columns > 0; columns = columns > 1 ? (columns + 1) / 2 : 0)
    for (std::int64_t rows_each = 1; rows_each <= height; ++rows_each) {
      const std::int64_t row = (height - rows_each) / 2, column = (width - columns) / 2;
      const std::int64_t bytes = source_bytes({row, row + rows_each, column, column + columns});
      if (bytes > patch_bytes && rows_each * columns > 1) break;
      const auto count =
          static_cast<double>(ceil_divide(rows(), rows_each) * ceil_divide(width, columns));
      const double moved = count * static_cast<double>(bytes + weight_bytes());
      if (count < 4 || (least >= 0 && moved >= least)) continue;
      least = moved;
      best_rows = rows_each;
      best_columns = columns;
    }
  cut(best_rows, best_columns);
}

// Small weights of one tap stay in L2 while images stream; other work goes patch by patch.
void TileConvolution::choose_pieces() {
  stream_ = plan_.result.count() * plan_.result.bytes_in_block() >= streamed_result_bytes;
  blocks_in_piece_ = plan_.result.blocks;
  pixel_by_pixel_ = weight_bytes() <= near_weight_bytes && plan_.taps <= 1;
  if (pixel_by_pixel_) return cut(ceil_divide(rows(), usual_pieces), plan_.result.width);
  choose_patches();
  const std::int64_t parts = ceil_divide(least_pieces, std::int64_t(patches_.size()));
  blocks_in_piece_ = ceil_divide(plan_.result.blocks, parts);
}

}  // namespace narrowgauge::cpu
