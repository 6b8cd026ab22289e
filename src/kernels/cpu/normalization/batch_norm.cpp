// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/normalization/batch_inner_norm.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

constexpr int batch = 8;
using Strips = std::array<float, batch * row_distance>;

template <class Body>
void for_grid_chunks(const ChannelGrid& grid, const Body& body) {
  parallel_for(grid.chunk_count(), grid.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) body(number, grid.chunk(number));
  });
}

struct ApplyColumns {
  const float *mean, *factor, *constant;
};

// y may be x.
void apply_row(const float* x, const ApplyColumns& columns, std::int64_t count, float* y) {
  const auto [mean, factor, constant] = columns;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j) y[j] = std::fma(x[j] - mean[j], factor[j], constant[j]);
}

void add_row(const float* other, std::int64_t count, float* y) {
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j) y[j] += other[j];
}

// Applies Relu; NaN stays.
void relu_row(std::int64_t count, float* y) {
  for (std::int64_t j = 0; j < count; ++j) y[j] = y[j] < 0 ? 0 : y[j];
}

// Joins parts that follow each other, as long as they stay in L1.
class StoredParts {
 public:
  explicit StoredParts(const StoredPart* stored) : stored_(stored) {}
  void add(std::int64_t begin, std::int64_t end) {
    if (!stored_) return;
    if (begin != end_ || end - begin_ > most_elements) tell(begin);
    end_ = end;
  }
  void finish() { tell(end_); }

 private:
  static constexpr std::int64_t most_elements = 4096;
  void tell(std::int64_t next) {
    if (stored_ && end_ > begin_) (*stored_)(begin_, end_);
    begin_ = next;
  }

  const StoredPart* stored_;
  std::int64_t begin_ = 0, end_ = 0;
};

void apply_chunk(const BatchNormApply& norm, const ChannelGrid& grid,
                 const ChannelGrid::Chunk& chunk, const ApplyColumns& channels) {
  alignas(64) StripBuffer mean, factor, constant, x_buffer, y_buffer, other_buffer;
  grid.expand(chunk.panel, channels.mean, mean.data());
  grid.expand(chunk.panel, channels.factor, factor.data());
  grid.expand(chunk.panel, channels.constant, constant.data());
  const ApplyColumns columns{mean.data(), factor.data(), constant.data()};
  StoredParts parts(norm.stored);
  for (std::int64_t row = chunk.begin; row < chunk.end; ++row) {
    const auto [from, count] = grid.strip(chunk, row, norm.x.pitch);
    const std::int64_t to = grid.strip(chunk, row, norm.y.pitch).offset;
    const float* x = load_strip(norm.x, from, count, x_buffer.data());
    const float* other = nullptr;
    if (norm.other)
      other = load_strip(norm.other, grid.strip(chunk, row, norm.other.pitch).offset, count,
                         other_buffer.data());
    // With `other`, over which y may lie, y is written last.
    float* y = norm.other ? y_buffer.data() : result_strip(norm.y, to, y_buffer.data());
    apply_row(x, columns, count, y);
    if (other) add_row(other, count, y);
    if (norm.relu) relu_row(count, y);
    store_strip(norm.y, to, count, y);
    parts.add(to, to + count);
  }
  parts.finish();
}

// Adds dy, dy * (x - mean) and x - mean of `Rows` rows to the sums of columns [begin, end).
struct GradientColumns {
  const float* mean;
  float *dy_sum, *product_sum, *deviation_sum;
};
struct GradientRows {
  std::array<const float*, batch> dy, x;
};
template <int Rows>
void add_gradient_rows(const GradientRows& rows, const GradientColumns& columns, std::int64_t begin,
                       std::int64_t end) {
  const auto [dy, x] = rows;
  const auto [mean, dy_sum, product_sum, deviation_sum] = columns;
#pragma GCC ivdep
  for (std::int64_t j = begin; j < end; ++j) {
    float deviations = x[0][j] - mean[j];
    float sum = dy[0][j], product = dy[0][j] * deviations;
    for (std::size_t i = 1; i < Rows; ++i) {
      const float deviation = x[i][j] - mean[j];
      sum += dy[i][j];
      product = std::fma(dy[i][j], deviation, product);
      deviations += deviation;
    }
    dy_sum[j] += sum;
    product_sum[j] += product;
    deviation_sum[j] += deviations;
  }
}

// The partial sums of every chunk, one number for each channel of its panel.
struct GradientPartials {
  float *dy_sum, *product_sum, *deviation_sum;
};

void chunk_gradient_sums(const BatchNormBackward& norm, const ChannelGrid& grid,
                         std::int64_t number, const GradientPartials& out) {
  alignas(64) Strips dy_buffer, x_buffer;
  alignas(64) StripBuffer mean, dy_sum{}, product_sum{}, deviation_sum{};
  const ChannelGrid::Chunk chunk = grid.chunk(number);
  grid.expand(chunk.panel, norm.mean, mean.data());
  const GradientColumns columns{mean.data(), dy_sum.data(), product_sum.data(),
                                deviation_sum.data()};
  for (std::int64_t row = chunk.begin; row < chunk.end;) {
    GradientRows rows;
    std::array<std::int64_t, batch> width;
    std::size_t count = 0;
    for (; count < batch && row < chunk.end; ++row, ++count) {
      const auto [offset, length] = grid.strip(chunk, row, norm.x.pitch);
      const std::int64_t dy_offset = grid.strip(chunk, row, norm.dy.pitch).offset;
      rows.x[count] = load_strip(norm.x, offset, length, &x_buffer[count * row_distance]);
      rows.dy[count] = load_strip(norm.dy, dy_offset, length, &dy_buffer[count * row_distance]);
      width[count] = length;
    }
    const std::int64_t together = count == batch ? chunk.least : 0;
    if (count == batch) add_gradient_rows<batch>(rows, columns, 0, together);
    for (std::size_t i = 0; i < count; ++i)
      add_gradient_rows<1>({{rows.dy[i]}, {rows.x[i]}}, columns, together, width[i]);
  }
  const std::int64_t at = number * grid.panel_channels();
  grid.fold_sums(chunk, dy_sum.data(), out.dy_sum + at);
  grid.fold_sums(chunk, product_sum.data(), out.product_sum + at);
  grid.fold_sums(chunk, deviation_sum.data(), out.deviation_sum + at);
}

// dx = factor * ((dy - dy_mean) - (x - mean) * slope), where dy_mean also holds -mean_low * slope
struct BackwardColumns {
  const float *mean, *factor, *dy_mean, *slope;
};

void batch_norm_backward_row(const float* dy, const float* x, const BackwardColumns& columns,
                             std::int64_t count, float* dx) {
  const auto [mean, factor, dy_mean, slope] = columns;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j)
    dx[j] = factor[j] * std::fma(mean[j] - x[j], slope[j], dy[j] - dy_mean[j]);
}

void backward_chunk(const BatchNormBackward& norm, const ChannelGrid& grid,
                    const ChannelGrid::Chunk& chunk, const BackwardColumns& channels) {
  alignas(64) StripBuffer mean, factor, dy_mean, slope, x_buffer, dy_buffer, dx_buffer;
  grid.expand(chunk.panel, channels.mean, mean.data());
  grid.expand(chunk.panel, channels.factor, factor.data());
  grid.expand(chunk.panel, channels.dy_mean, dy_mean.data());
  grid.expand(chunk.panel, channels.slope, slope.data());
  const BackwardColumns columns{mean.data(), factor.data(), dy_mean.data(), slope.data()};
  for (std::int64_t row = chunk.begin; row < chunk.end; ++row) {
    const auto [offset, count] = grid.strip(chunk, row, norm.x.pitch);
    const float* x = load_strip(norm.x, offset, count, x_buffer.data());
    const std::int64_t dy_offset = grid.strip(chunk, row, norm.dy.pitch).offset;
    const float* dy = load_strip(norm.dy, dy_offset, count, dy_buffer.data());
    const std::int64_t to = grid.strip(chunk, row, norm.dx.pitch).offset;
    float* dx = result_strip(norm.dx, to, dx_buffer.data());
    batch_norm_backward_row(dy, x, columns, count, dx);
    store_strip(norm.dx, to, count, dx);
  }
}

// The coefficients of each channel for batch_norm_backward_row.
struct Coefficients {
  float *dy_mean, *slope;
};

// What the mean of x lost when it was rounded to f32, from the mean of x - mean. At most what f32
// can lose: a mean that is not that of x stays as it was given.
double mean_low(float mean, double inverse_std, double deviation) {
  const double most = (std::abs(double(mean)) + 1 / inverse_std) * 0x1p-23;
  return std::clamp(deviation, -most, most);
}

// Turns a channel's sums into its gradients and the coefficients of dx.
void finish_channel(const BatchNormBackward& norm, std::int64_t c,
                    const std::array<double, 3>& sums, const Coefficients& coefficients) {
  const auto [dy_sum, product_sum, deviation_sum] = sums;
  const double count = double(norm.layout.per_channel());
  const double inverse = double(norm.inverse_std[c]);
  const double low =
      norm.is_batch_mean ? mean_low(norm.mean[c], inverse, deviation_sum / count) : 0.0;
  const double scale_gradient = (product_sum - low * dy_sum) * inverse;
  const double slope = scale_gradient * inverse / count;
  if (norm.scale_gradient) norm.scale_gradient[c] = float(scale_gradient);
  if (norm.bias_gradient) norm.bias_gradient[c] = float(dy_sum);
  coefficients.dy_mean[c] = float(dy_sum / count - low * slope);
  coefficients.slope[c] = float(slope);
}

// Adds the chunks of a panel in their order.
void join_panel(const BatchNormBackward& norm, const ChannelGrid& grid, std::int64_t panel,
                const GradientPartials& partials, const Coefficients& coefficients) {
  std::array<double, strip_length> dy_sum{}, product_sum{}, deviation_sum{};
  const std::int64_t channels = grid.channel_count(panel);
  for (std::int64_t index = 0; index < grid.chunks_per_panel(); ++index) {
    const std::int64_t at = (panel * grid.chunks_per_panel() + index) * grid.panel_channels();
    for (std::int64_t c = 0; c < channels; ++c) {
      dy_sum[std::size_t(c)] += double(partials.dy_sum[at + c]);
      product_sum[std::size_t(c)] += double(partials.product_sum[at + c]);
      deviation_sum[std::size_t(c)] += double(partials.deviation_sum[at + c]);
    }
  }
  for (std::size_t i = 0; i < std::size_t(channels); ++i)
    finish_channel(norm, grid.first_channel(panel) + std::int64_t(i),
                   {dy_sum[i], product_sum[i], deviation_sum[i]}, coefficients);
}

// The backward pass for images in batch-inner blocks; `floats` is the workspace.
void backward_in_blocks(const BatchNormBackward& norm, float* floats) {
  const std::int64_t channels = norm.layout.channels;
  auto* const doubles = reinterpret_cast<double*>(floats + 4 * channels);
  const GradientSums sums{doubles, doubles + channels, doubles + 2 * channels};
  batch_inner::gradient_sums(norm, sums, doubles + 3 * channels);
  batch_norm_backward_from(norm, sums, floats);
}

bool all_dense(const ChannelLayout& layout, std::initializer_list<ConstArray> arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [&](const ConstArray& array) {
    return !array || layout.is_dense(array.pitch);
  });
}

}  // namespace

std::int64_t batch_norm_workspace(const ChannelLayout& layout) {
  std::int64_t partials = 0;
  for (const bool dense : {false, true}) {
    const ChannelGrid grid(layout, dense);
    partials = std::max(partials, grid.chunk_count() * grid.panel_channels());
  }
  const std::int64_t vectors = 12 * layout.channels * std::int64_t(sizeof(float));
  return std::max(3 * (layout.channels + partials) * std::int64_t(sizeof(float)),
                  batch_inner::workspace(layout) + vectors);
}

void batch_norm_factors(const BatchNormApply& norm, float* factor, float* constant) {
  for (std::int64_t c = 0; c < norm.layout.channels; ++c) {
    factor[c] = norm.scale[c] * norm.inverse_std[c];
    constant[c] = norm.bias[c] - (norm.mean_low ? norm.mean_low[c] * factor[c] : 0.0F);
  }
}

void batch_norm_apply(const BatchNormApply& norm, void* workspace) {
  const ChannelLayout& layout = norm.layout;
  const ChannelGrid grid(layout, all_dense(layout, {norm.x, norm.y, norm.other}));
  float* factor = static_cast<float*>(workspace);
  float* constant = factor + layout.channels;
  batch_norm_factors(norm, factor, constant);
  if (!norm.stored && batch_inner::takes(layout, {norm.x, norm.y, norm.other}))
    return batch_inner::apply(norm, factor, constant);
  for_grid_chunks(grid, [&](std::int64_t, const ChannelGrid::Chunk& chunk) {
    apply_chunk(norm, grid, chunk, {norm.mean, factor, constant});
  });
}

void batch_norm_train(BatchNormApply norm, float epsilon, BatchStatistics statistics,
                      void* workspace) {
  NG_INVARIANT(statistics.mean && statistics.inverse_std);
  float* floats = static_cast<float*>(workspace);
  const std::int64_t channels = norm.layout.channels;
  if (!statistics.mean_low) {
    statistics.mean_low = floats;
    floats += channels;
  }
  batch_statistics(norm.layout, norm.x, epsilon, statistics, floats);
  norm.mean = statistics.mean;
  norm.mean_low = statistics.mean_low;
  norm.inverse_std = statistics.inverse_std;
  batch_norm_apply(norm, floats);
}

void batch_norm_infer(BatchNormApply norm, const float* variance, float epsilon, void* workspace) {
  float* inverse_std = static_cast<float*>(workspace);
  for (std::int64_t c = 0; c < norm.layout.channels; ++c)
    inverse_std[c] = float(1.0 / std::sqrt(double(variance[c]) + double(epsilon)));
  norm.inverse_std = inverse_std;
  batch_norm_apply(norm, inverse_std + norm.layout.channels);
}

void batch_norm_backward(const BatchNormBackward& norm, void* workspace) {
  const ChannelLayout& layout = norm.layout;
  if (batch_inner::takes(layout, {norm.x, norm.dy, norm.dx}))
    return backward_in_blocks(norm, static_cast<float*>(workspace));
  const ChannelGrid grid(layout, all_dense(layout, {norm.x, norm.dy, norm.dx}));
  float* floats = static_cast<float*>(workspace);
  const Coefficients coefficients{floats, floats + layout.channels};
  float* factor = floats + 2 * layout.channels;
  float* sums = factor + layout.channels;
  const std::int64_t sum_count = grid.chunk_count() * grid.panel_channels();
  const GradientPartials partials{sums, sums + sum_count, sums + 2 * sum_count};
  for_grid_chunks(grid, [&](std::int64_t number, const ChannelGrid::Chunk&) {
    chunk_gradient_sums(norm, grid, number, partials);
  });
  const std::int64_t panel_grain = std::max<std::int64_t>(1, 64 / grid.chunks_per_panel());
  parallel_for(grid.panels(), panel_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel)
      join_panel(norm, grid, panel, partials, coefficients);
  });
  if (!norm.dx) return;
  for (std::int64_t c = 0; c < layout.channels; ++c)
    factor[c] = norm.scale[c] * norm.inverse_std[c];
  for_grid_chunks(grid, [&](std::int64_t, const ChannelGrid::Chunk& chunk) {
    backward_chunk(norm, grid, chunk,
                   {norm.mean, factor, coefficients.dy_mean, coefficients.slope});
  });
}

void batch_norm_backward_from(const BatchNormBackward& norm, const GradientSums& sums,
                              void* workspace) {
  const std::int64_t channels = norm.layout.channels;
  auto* const floats = static_cast<float*>(workspace);
  const Coefficients coefficients{floats, floats + channels};
  float* const factor = floats + 2 * channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    finish_channel(norm, c, {sums.dy[c], sums.product[c], sums.deviation ? sums.deviation[c] : 0},
                   coefficients);
    factor[c] = norm.scale[c] * norm.inverse_std[c];
  }
  if (norm.dx) batch_inner::gradient(norm, {factor, coefficients.dy_mean, coefficients.slope});
}

}  // namespace narrowgauge::cpu
