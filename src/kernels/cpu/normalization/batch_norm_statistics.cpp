// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/lanes/row_math.h"
#include "kernels/cpu/normalization/batch_inner_norm.h"
#include "kernels/cpu/normalization/batch_norm.h"

namespace narrowgauge::cpu {
namespace {

// Joins rows to columns [begin, end), which already hold `before` rows.
void join_rows(const float* const* rows, std::int64_t count, const MomentColumns& columns,
               std::array<std::int64_t, 2> range, std::int64_t before) {
  const auto [begin, end] = range;
  if (begin >= end) return;
  const MomentColumns from{columns.shift + begin, columns.mean + begin, columns.squares + begin};
  if (count == row_batch) {
    RowBatch batch;
    std::transform(rows, rows + count, batch.begin(),
                   [&](const float* row) { return row + begin; });
    return row_math().join_eight(batch, from, end - begin, before);
  }
  for (std::int64_t i = 0; i < count; ++i)
    row_math().join_one(rows[i] + begin, from, end - begin, before + i);
}

struct Partials {
  float *shift, *mean, *m2;
};

void chunk_moments(const ChannelGrid& grid, ConstArray x, std::int64_t number,
                   const Partials& out) {
  alignas(64) std::array<float, row_batch * row_distance> buffer;
  alignas(64) std::array<float, strip_length> shift, mean{}, m2{};
  const ChannelGrid::Chunk chunk = grid.chunk(number);
  const MomentColumns columns{shift.data(), mean.data(), m2.data()};
  grid.expand(chunk.panel, out.shift, shift.data());
  std::int64_t all = 0, full = 0;
  for (std::int64_t row = chunk.begin; row < chunk.end;) {
    RowBatch rows, full_rows;
    std::int64_t count = 0, full_count = 0;
    for (; count < row_batch && row < chunk.end; ++row, ++count) {
      const ChannelGrid::Strip strip = grid.strip(chunk, row, x.pitch);
      const float* values =
          load_strip(x, strip.offset, strip.count, &buffer[std::size_t(count * row_distance)]);
      rows[std::size_t(count)] = values;
      if (strip.count == chunk.width) full_rows[std::size_t(full_count++)] = values;
    }
    join_rows(rows.data(), count, columns, {0, chunk.least}, all);
    join_rows(full_rows.data(), full_count, columns, {chunk.least, chunk.width}, full);
    all += count;
    full += full_count;
  }
  const std::int64_t at = number * grid.panel_channels();
  grid.fold_moments(chunk, mean.data(), m2.data(), out.mean + at, out.m2 + at);
}

// Takes the first value of each channel, at most sqrt(count) deviations from its mean.
void choose_grid_shifts(const ChannelLayout& layout, ConstArray x, float* shift) {
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    const std::int64_t offset = c / layout.block * layout.inner * layout.block + c % layout.block;
    shift[c] = *load_strip(x, offset, 1, &shift[c]);
    if (!std::isfinite(shift[c])) shift[c] = 0;
  }
}

struct Totals {
  std::array<double, strip_length> mean{}, m2{};
};

// Joins the chunks of a panel in their order.
void join_moments(const ChannelGrid& grid, const Partials& partials, std::int64_t panel,
                  Totals& totals) {
  const std::int64_t channels = grid.channel_count(panel);
  std::int64_t before = 0;
  for (std::int64_t index = 0; index < grid.chunks_per_panel(); ++index) {
    const std::int64_t number = panel * grid.chunks_per_panel() + index;
    const float* mean = partials.mean + number * grid.panel_channels();
    const float* m2 = partials.m2 + number * grid.panel_channels();
    const std::int64_t count = grid.elements_per_channel(grid.chunk(number));
    const double weight = double(count) / double(before + count);
    const double spread = double(before) * weight;
    for (std::size_t c = 0; c < std::size_t(channels); ++c) {
      const double delta = double(mean[c]) - totals.mean[c];
      totals.mean[c] += delta * weight;
      totals.m2[c] += double(m2[c]) + delta * delta * spread;
    }
    before += count;
  }
}

}  // namespace

void batch_statistics(const ChannelLayout& layout, ConstArray x, float epsilon,
                      const BatchStatistics& statistics, void* workspace) {
  if (batch_inner::takes(layout, {x}))
    return batch_inner::statistics(layout, x, epsilon, statistics, workspace);
  const ChannelGrid grid(layout, layout.is_dense(x.pitch));
  Partials partials;
  partials.shift = static_cast<float*>(workspace);
  partials.mean = partials.shift + layout.channels;
  partials.m2 = partials.mean + grid.chunk_count() * grid.panel_channels();
  choose_grid_shifts(layout, x, partials.shift);
  parallel_for(grid.chunk_count(), grid.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number)
      chunk_moments(grid, x, number, partials);
  });
  const std::int64_t panel_grain = std::max<std::int64_t>(1, 64 / grid.chunks_per_panel());
  parallel_for(grid.panels(), panel_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      Totals totals;
      join_moments(grid, partials, panel, totals);
      for (std::int64_t i = 0; i < grid.channel_count(panel); ++i) {
        const std::int64_t c = grid.first_channel(panel) + i;
        const double mean = double(partials.shift[c]) + totals.mean[std::size_t(i)];
        const double variance = totals.m2[std::size_t(i)] / double(layout.per_channel());
        if (statistics.mean) statistics.mean[c] = float(mean);
        if (statistics.mean_low) statistics.mean_low[c] = float(mean - double(float(mean)));
        if (statistics.variance) statistics.variance[c] = float(variance);
        if (statistics.inverse_std)
          statistics.inverse_std[c] = float(1.0 / std::sqrt(variance + double(epsilon)));
      }
    }
  });
}

void update_running_statistics(const RunningStatistics& running) {
  const float keep = running.momentum, add = 1.0F - running.momentum;
  for (std::int64_t c = 0; c < running.channels; ++c) {
    running.next_mean[c] = running.mean[c] * keep + running.batch_mean[c] * add;
    const float variance = running.batch_variance[c] * running.variance_factor;
    running.next_variance[c] = running.variance[c] * keep + variance * add;
  }
}

}  // namespace narrowgauge::cpu
