// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/channel_grid.h"

#include <algorithm>

#include "kernels/cpu/core/work.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t chunk_elements = 32768;  // 128 KB of f32: small pieces, large against setup
constexpr std::int64_t most_panel_chunks = 64;  // of a panel: bounds the partial sums
// Columns of a strip if the next strip follows in memory: eight of them stay in L1. If it does not
// follow, strips are up to strip_length long, so that prefetching pays.
constexpr std::int64_t usual_width = 512;
constexpr int lanes = 16;

// A sum whose order depends only on the count.
float lane_sum(const float* values, std::int64_t count) {
  float sum[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int l = 0; l < lanes; ++l) sum[l] += values[i + l];
  for (int l = 0; i < count; ++i, ++l) sum[l] += values[i];
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
  return sum[0];
}

float lane_squares(const float* values, float center, std::int64_t count) {
  float sum[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int l = 0; l < lanes; ++l) {
      const float d = values[i + l] - center;
      sum[l] += d * d;
    }
  for (int l = 0; i < count; ++i, ++l) {
    const float d = values[i] - center;
    sum[l] += d * d;
  }
  return lane_sum(sum, lanes);
}

struct LaneMoments {
  float count = 0, mean = 0, m2 = 0;
  // Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
  // variances", 1979.
  void add(const LaneMoments& other) {
    if (other.count == 0) return;
    const float total = count + other.count;
    const float delta = other.mean - mean;
    mean += delta * (other.count / total);
    m2 += other.m2 + delta * delta * (count * other.count / total);
    count = total;
  }
};

struct Counts {
  std::int64_t columns, before, added;
};
// Does what LaneMoments::add does for many columns with equal counts.
void add_moments(const Counts& counts, const float* other_mean, const float* other_m2, float* mean,
                 float* m2) {
  if (counts.added == 0) return;
  const float total = float(counts.before + counts.added);
  const float weight = float(counts.added) / total;
  const float spread = float(counts.before) * weight;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < counts.columns; ++c) {
    const float delta = other_mean[c] - mean[c];
    mean[c] += delta * weight;
    m2[c] += other_m2[c] + delta * delta * spread;
  }
}

// The moments of columns that have the same number of rows each.
LaneMoments equal_columns(const float* mean, const float* m2, std::int64_t columns,
                          std::int64_t rows) {
  if (columns <= 0 || rows == 0) return {};
  const float center = lane_sum(mean, columns) / float(columns);
  return {float(columns * rows), center,
          lane_sum(m2, columns) + float(rows) * lane_squares(mean, center, columns)};
}

}  // namespace

ChannelGrid::ChannelGrid(const ChannelLayout& layout, bool dense)
    : channels_(layout.channels), slice_(layout.slice()), outer_(layout.outer) {
  std::int64_t inner = layout.inner;
  if (layout.block == 1 && channels_ == 1 && dense) {
    inner *= outer_;
    outer_ = 1;
    slice_ = inner;
  }
  if (layout.block > 1) {
    NG_INVARIANT(layout.block <= usual_width && channels_ % layout.block == 0);
    panel_channels_ = period_ = layout.block;
    repeat_ = 1;
    run_ = panel_step_ = inner * layout.block;
    width_ = round_up(ceil_divide(run_, ceil_divide(run_, usual_width)), layout.block);
    if (width_ > usual_width) width_ -= layout.block;
  } else if (inner > usual_width) {
    panel_channels_ = 1;
    run_ = panel_step_ = inner;
    width_ = round_up(ceil_divide(inner, ceil_divide(inner, usual_width)), lanes);
    period_ = repeat_ = width_;
  } else if (dense && 2 * slice_ <= usual_width) {
    panel_channels_ = channels_;
    period_ = slice_;
    repeat_ = inner;
    run_ = panel_step_ = outer_ * slice_;
    width_ = std::min(run_, usual_width / slice_ * slice_);
    outer_ = 1;
  } else {
    panel_channels_ = std::min(channels_, strip_length / inner);
    run_ = panel_step_ = width_ = period_ = panel_channels_ * inner;
    repeat_ = inner;
  }
  panels_ = ceil_divide(channels_, panel_channels_);
  steps_ = ceil_divide(run_, width_);
  rows_per_chunk_ = round_up(
      std::max(ceil_divide(chunk_elements, width_), ceil_divide(rows(), most_panel_chunks)), 8);
  chunks_per_panel_ = ceil_divide(rows(), rows_per_chunk_);
}

std::int64_t ChannelGrid::grain() const {
  const std::int64_t elements = std::min(rows_per_chunk_, rows()) * width_;
  return std::max<std::int64_t>(1, chunk_elements / elements);
}

std::int64_t ChannelGrid::panel_width(std::int64_t panel) const {
  return steps_ > 1 ? width_
                    : std::min(width_, channel_count(panel) * repeat_ * (width_ / period_));
}

std::int64_t ChannelGrid::channel_count(std::int64_t panel) const {
  return std::min(panel_channels_, channels_ - first_channel(panel));
}

ChannelGrid::Chunk ChannelGrid::chunk(std::int64_t number) const {
  Chunk chunk;
  chunk.panel = number / chunks_per_panel_;
  chunk.index = number % chunks_per_panel_;
  chunk.begin = chunk.index * rows_per_chunk_;
  chunk.end = std::min(chunk.begin + rows_per_chunk_, rows());
  chunk.width = panel_width(chunk.panel);
  const bool short_rows = full_rows(chunk) < chunk.end - chunk.begin;
  chunk.least = short_rows ? run_ - (steps_ - 1) * width_ : chunk.width;
  return chunk;
}

std::int64_t ChannelGrid::full_rows(const Chunk& chunk) const {
  if (steps_ == 1 || run_ % width_ == 0) return chunk.end - chunk.begin;
  return (chunk.end - chunk.begin) - (chunk.end / steps_ - chunk.begin / steps_);
}

ChannelGrid::Strip ChannelGrid::strip(const Chunk& chunk, std::int64_t row,
                                      std::int64_t pitch) const {
  const std::int64_t step = row % steps_;
  const std::int64_t outer_offset = row / steps_ * (pitch == 0 ? slice_ : pitch);
  const std::int64_t left = steps_ == 1 ? chunk.width : run_ - step * width_;
  return {outer_offset + chunk.panel * panel_step_ + step * width_, std::min(chunk.width, left)};
}

std::int64_t ChannelGrid::elements_per_channel(const Chunk& chunk) const {
  const std::int64_t full = full_rows(chunk), all = chunk.end - chunk.begin;
  return (all * chunk.least + full * (chunk.width - chunk.least)) / channel_count(chunk.panel);
}

void ChannelGrid::expand(std::int64_t panel, const float* values, float* columns) const {
  values += first_channel(panel);
  const std::int64_t width = panel_width(panel);
  const std::int64_t period = std::min(period_, width);
  for (std::int64_t j = 0; j < period; j += repeat_)
    std::fill_n(columns + j, std::min(repeat_, width - j), values[j / repeat_]);
  for (std::int64_t j = period; j < width; j += period)
    std::copy_n(columns, std::min(period, width - j), columns + j);
}

void ChannelGrid::fold_sums(const Chunk& chunk, const float* columns, float* sums) const {
  const std::int64_t count = channel_count(chunk.panel);
  std::fill_n(sums, count, 0.0F);
  for (std::int64_t first = 0; first < chunk.width; first += period_)
    for (std::int64_t c = 0; c < count; ++c)
      sums[c] += repeat_ == 1 ? columns[first + c]
                              : lane_sum(columns + first + c * repeat_,
                                         std::min(repeat_, chunk.width - first - c * repeat_));
}

void ChannelGrid::fold_moments(const Chunk& chunk, const float* column_mean, const float* column_m2,
                               float* mean, float* m2) const {
  const std::int64_t all = chunk.end - chunk.begin, full = full_rows(chunk);
  if (repeat_ == 1) {  // least and width are multiples of the period
    std::fill_n(mean, channel_count(chunk.panel), 0.0F);
    std::fill_n(m2, channel_count(chunk.panel), 0.0F);
    std::int64_t before = 0;
    for (std::int64_t first = 0; first < chunk.width; first += period_) {
      const std::int64_t rows = first < chunk.least ? all : full;
      const std::int64_t count = std::min(period_, chunk.width - first);
      add_moments({count, before, rows}, column_mean + first, column_m2 + first, mean, m2);
      before += rows;
    }
    return;
  }
  for (std::int64_t c = 0; c < channel_count(chunk.panel); ++c) {
    LaneMoments total;
    for (std::int64_t first = c * repeat_; first < chunk.width; first += period_) {
      const std::int64_t end = std::min(first + repeat_, chunk.width);
      const std::int64_t cut = std::clamp(chunk.least, first, end);
      total.add(equal_columns(column_mean + first, column_m2 + first, cut - first, all));
      total.add(equal_columns(column_mean + cut, column_m2 + cut, end - cut, full));
    }
    mean[c] = total.mean;
    m2[c] = total.m2;
  }
}

}  // namespace narrowgauge::cpu
