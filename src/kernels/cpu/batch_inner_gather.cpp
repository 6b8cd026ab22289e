// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner_gather.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/strip.h"

namespace narrowgauge::cpu {

namespace {

constexpr std::int64_t near_cache = 640 << 10;     // of L2: weights that stay there
constexpr std::int64_t strip_bytes = 900 << 10;    // of L2: source rows that stay there
constexpr std::int64_t stream_bytes = 10'000'000;  // larger results go past the caches
constexpr std::int64_t usual_pieces = 32;

constexpr std::int64_t round_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The epilogue of a piece: its own part of the sums.
Epilogue part_of(const Epilogue& whole, std::int64_t offset) {
  Epilogue part = whole;
  const auto move = [offset](float*& sums) {
    if (sums) sums += offset;
  };
  move(part.moments.shift);
  move(part.moments.sum);
  move(part.moments.squares);
  move(part.slopes.sum);
  for (Slopes::Product& product : part.slopes.products) move(product.sum);
  return part;
}

}  // namespace

BatchInnerGather::BatchInnerGather(const BatchInnerConvolution& c)
    : tables_(c), plan_(tables_.plan()), bias_(c.bias) {
  choose_pieces();
}

BatchInnerGather::BatchInnerGather(const Dims& images) : tables_(images), plan_(tables_.plan()) {
  choose_pieces();
}

std::int64_t BatchInnerGather::workspace() const {
  return round_up(weight_bytes()) + round_up(channels() * 4);
}

std::int64_t BatchInnerGather::row_pieces() const { return ceil_divide(rows(), rows_in_piece_); }

std::int64_t BatchInnerGather::piece_rows(std::int64_t piece) const {
  return std::min(rows(), (piece + 1) * rows_in_piece_) - piece * rows_in_piece_;
}

void BatchInnerGather::run(const Operands& operands, const Epilogue& epilogue) const {
  auto* packed = static_cast<std::byte*>(operands.workspace);
  auto* bias = reinterpret_cast<float*>(packed + round_up(weight_bytes()));
  const auto* weights = static_cast<const std::byte*>(operands.weights);
  if (plan_.taps > 0)
    parallel_for(plan_.result.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      amx::pack_weights(weights, tables_.weights(), begin, end, packed);
    });
  load_bias(bias_, operands.bias, channels(), bias);
  const GatherPiece whole{static_cast<const std::byte*>(operands.source),
                          packed,
                          static_cast<std::byte*>(operands.result),
                          bias,
                          0,
                          rows(),
                          0,
                          plan_.result.blocks,
                          pixel_by_pixel_,
                          stream_};
  const std::int64_t block_pieces = ceil_divide(plan_.result.blocks, blocks_in_piece_);
  parallel_for(row_pieces() * block_pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      GatherPiece piece = whole;
      const std::int64_t row_piece = i / block_pieces;
      piece.row_begin = row_piece * rows_in_piece_;
      piece.row_end = piece.row_begin + piece_rows(row_piece);
      piece.block_begin = i % block_pieces * blocks_in_piece_;
      piece.block_end = std::min(plan_.result.blocks, piece.block_begin + blocks_in_piece_);
      piece.epilogue = part_of(epilogue, row_piece * channels());
      plan_.taps > 0 ? amx::gather(plan_, piece) : amx::pass_on(plan_, piece);
    }
  });
}

// Chan, Golub, LeVeque 1979.
void BatchInnerGather::join(const PieceMoments& moments, float epsilon,
                            const BatchStatistics& statistics) const {
  for (std::int64_t c = 0; c < channels(); ++c) {
    double mean = 0, squares = 0, before = 0;
    for (std::int64_t piece = 0; piece < row_pieces(); ++piece) {
      const std::int64_t at = piece * channels() + c;
      const double count = double(piece_rows(piece) * plan_.result.width * 32);
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

void BatchInnerGather::join(const float* parts, double* sums) const {
  for (std::int64_t c = 0; c < channels(); ++c) {
    sums[c] = 0;
    for (std::int64_t at = c; at < part_floats(); at += channels()) sums[c] += double(parts[at]);
  }
}

// Small weights stay in L2 while images pass. Large ones pass over strips of images that stay
// there, or stay block by block while all images pass: whatever moves fewer bytes from L3.
void BatchInnerGather::choose_pieces() {
  const BatchInnerImages& source = plan_.source;
  stream_ = plan_.result.count() * block_bytes >= stream_bytes;
  pixel_by_pixel_ = weight_bytes() <= near_cache;
  blocks_in_piece_ = plan_.result.blocks;
  rows_in_piece_ = ceil_divide(rows(), usual_pieces);
  if (pixel_by_pixel_) return;
  const std::int64_t images = source.count() * block_bytes;
  const std::int64_t strips = std::max<std::int64_t>(4, ceil_divide(images, strip_bytes));
  const std::int64_t by_blocks = plan_.result.blocks * images + weight_bytes();
  if (strips * weight_bytes() + images < by_blocks) {
    rows_in_piece_ = ceil_divide(rows(), strips);
  } else {
    rows_in_piece_ = rows();
    blocks_in_piece_ = ceil_divide(plan_.result.blocks, 8);
  }
}

}  // namespace narrowgauge::cpu
