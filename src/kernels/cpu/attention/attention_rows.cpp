// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/random/random_fill.h"

namespace narrowgauge::cpu {
namespace {

std::int64_t offset(std::int64_t image_step, std::int64_t row_step, AttentionHead head,
                    std::int64_t row, std::int64_t width) {
  return head.image * image_step + row * row_step + head.head * width;
}

constexpr std::int64_t rows_ahead = 8;

// Rows lie far apart, and their loads would wait for each other.
void fetch_row(const void* data, DType dtype, std::int64_t at, std::int64_t width) {
  const std::int64_t size = bits(dtype) / 8;
  const std::byte* const row = static_cast<const std::byte*>(data) + at * size;
  for (std::int64_t i = 0; i < width * size; i += 64) __builtin_prefetch(row + i);
}

void load(ConstArray from, std::int64_t at, std::int64_t count, float* to) {
  const float* values = load_strip(from, at, count, to);
  if (values != to) std::copy_n(values, count, to);
}

}  // namespace

void load_head_rows(const AttentionProblem& problem, const AttentionInput& from, AttentionHead head,
                    RowRange rows, float* to) {
  const std::int64_t width = problem.shape.width, pitch = padded(width);
  const auto at = [&](std::int64_t r) {
    return offset(from.batch, from.row, head, rows.first + r, width);
  };
  for (std::int64_t r = 0; r < padded(rows.count); ++r, to += pitch) {
    std::int64_t filled = 0;
    if (r + rows_ahead < rows.count) fetch_row(from.data, problem.dtype, at(r + rows_ahead), width);
    if (r < rows.count) {
      filled = width;
      load({from.data, problem.dtype}, at(r), width, to);
    }
    std::fill(to + filled, to + pitch, 0.0F);
  }
}

void store_head_rows(const AttentionProblem& problem, const AttentionOutput& to, AttentionHead head,
                     RowRange rows, const float* from) {
  if (!to.data) return;
  const std::int64_t width = problem.shape.width, pitch = padded(width);
  const Array target{to.data, problem.dtype, 0, to.flushed};
  for (std::int64_t r = 0; r < rows.count; ++r)
    store_strip(target, offset(to.batch, to.row, head, rows.first + r, width), width,
                from + r * pitch);
}

std::int64_t ScoreStrip::bytes(const AttentionShape& shape) {
  return (2 * attention_block + 4) * padded(shape.keys) + 64;
}

ScoreStrip::ScoreStrip(const AttentionProblem& problem, AttentionHead head, std::byte* scratch)
    : problem_(problem),
      head_(head),
      numbers_(reinterpret_cast<std::uint32_t*>(scratch)),
      mask_(reinterpret_cast<float*>(scratch + 2 * attention_block * padded(problem.shape.keys) +
                                     64)) {}

std::int64_t ScoreStrip::index(std::int64_t query) const {
  const AttentionShape& shape = problem_.shape;
  return (head_.image * shape.heads + head_.head) * shape.queries + queries_.first + query;
}

void ScoreStrip::start(RowRange queries) {
  queries_ = queries;
  const std::int64_t keys = problem_.shape.keys;
  padded_ = padded(problem_.causal ? std::min(keys, queries.first + queries.count) : keys);
  if (problem_.keep == 1) return;
  bits_ = random_shorts(problem_.dropout, static_cast<std::uint64_t>(index(0) * keys),
                        queries.count * keys, numbers_);
}

void ScoreStrip::fetch_next(const AttentionInput& more) const {
  const AttentionShape& shape = problem_.shape;
  if (head_.head + 1 == shape.heads) return;
  const AttentionHead next{head_.image, head_.head + 1};
  const std::int64_t size = bits(problem_.dtype) / 8;
  const auto fetch = [&](const AttentionInput& input, std::int64_t rows) {
    if (!input.data) return;
    const std::int64_t last = (queries_.first + queries_.count) * rows / shape.queries;
    for (std::int64_t r = queries_.first * rows / shape.queries; r < last; ++r) {
      const std::byte* row = static_cast<const std::byte*>(input.data) +
                             size * offset(input.batch, input.row, next, r, shape.width);
      for (std::int64_t i = 0; i < size * shape.width; i += 64) __builtin_prefetch(row + i, 0, 2);
    }
  };
  fetch(problem_.q, shape.queries);
  fetch(more, shape.queries);
  fetch(problem_.k, shape.keys);
  fetch(problem_.v, shape.keys);
}

ScoreRow ScoreStrip::row(std::int64_t query, float* scores) const {
  const std::int64_t keys = problem_.shape.keys, number = queries_.first + query;
  ScoreRow row{.scores = scores, .scale = problem_.scale, .keep = problem_.keep};
  row.visible = problem_.causal ? std::min(keys, number + 1) : keys;
  row.padded = padded_;
  if (problem_.keep < 1) {
    row.bits = bits_ + query * keys;
    row.below = problem_.keep * 0x1p16F;
  }
  const AttentionMask& mask = problem_.mask;
  if (!mask.values) return row;
  const std::int64_t at = head_.image * mask.batch + head_.head * mask.head + number * mask.query;
  if (mask.repeats) {
    float value = 0;
    std::fill_n(mask_, keys, *load_strip(mask.values, at, 1, &value));
    row.mask = mask_;
  } else {
    row.mask = load_strip(mask.values, at, keys, mask_);
  }
  return row;
}

float share_factor(const RowShares& shares, float keep) {
  return shares.sum == 0 ? 0.0F : 1 / (shares.sum * keep);
}

float logsumexp(const RowShares& shares) {
  return shares.sum == 0 ? -std::numeric_limits<float>::infinity()
                         : shares.largest + std::log(shares.sum);
}

}  // namespace narrowgauge::cpu
