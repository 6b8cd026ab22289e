// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/layer_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/quantize.h"
#include "kernels/cpu/lanes/row_math.h"
#include "kernels/cpu/random/random_fill.h"

namespace narrowgauge::cpu {
namespace {

std::int64_t row_grain(const RowLayout& layout) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, layout.columns));
}

// Rows whose gradients are summed in f32: few enough to keep the error small, enough to make the
// sums small beside x.
constexpr std::int64_t chunk_rows = 64;
std::int64_t chunk_count(const RowLayout& layout) { return ceil_divide(layout.rows, chunk_rows); }

// Calls body(column, count) for the strips of a row.
template <class Body>
void for_strips(std::int64_t columns, const Body& body) {
  for (std::int64_t at = 0; at < columns; at += strip_length)
    body(at, std::min(strip_length, columns - at));
}

// [columns] as f32: in place or in `room`; filled with `otherwise` if absent.
const float* per_column(ConstArray values, std::int64_t columns, float otherwise, float* room) {
  if (values) return load_strip(values, 0, columns, room);
  std::fill_n(room, columns, otherwise);
  return room;
}

struct RowMoments {
  double count = 0, mean = 0, m2 = 0;
};

// Moments of a row minus its first value; joined as in Chan, Golub, LeVeque 1979.
RowMoments row_moments(ConstArray x, std::int64_t offset, std::int64_t columns, float shift) {
  alignas(64) StripBuffer buffer;
  RowMoments row;
  for_strips(columns, [&](std::int64_t at, std::int64_t count) {
    const float* value = load_strip(x, offset + at, count, buffer.data());
    const auto [mean, squares] = row_math().moments(value, shift, count);
    const double weight = double(count) / (row.count + double(count));
    const double delta = double(mean) - row.mean;
    row.m2 += double(squares) + delta * delta * row.count * weight;
    row.mean += delta * weight;
    row.count += double(count);
  });
  return row;
}

// A row in memory, or a buffer with it in f32.
struct Row {
  ConstArray array;
  std::int64_t offset;
};

// A row whose moments are known, of its values minus `shift`.
struct MeasuredRow {
  Row row;
  float shift;
  RowMoments moments;
};

float finite_or_zero(float shift) { return std::isfinite(shift) ? shift : 0.0F; }

MeasuredRow measured(const Row& row, std::int64_t columns) {
  float first = 0;
  const float shift = finite_or_zero(*load_strip(row.array, row.offset, 1, &first));
  return {row, shift, row_moments(row.array, row.offset, columns, shift)};
}

// Whether a row is one strip of whole sixteens.
bool is_whole_strip(std::int64_t columns) { return columns <= strip_length && columns % 16 == 0; }

template <class Element>
const Element* row_of(ConstArray array, std::int64_t offset) {
  return static_cast<const Element*>(array.data) + offset;
}

void forward_row(const LayerNormForward& norm, const MeasuredRow& x_row, std::int64_t row,
                 const float* scale, const float* bias) {
  alignas(64) StripBuffer x_buffer, y_buffer;
  const auto& [source, shift, moments] = x_row;
  const std::int64_t columns = norm.layout.columns;
  const double variance = moments.m2 / double(columns);
  const auto inverse = float(1 / std::sqrt(variance + double(norm.epsilon)));
  const auto mean = float(moments.mean);  // of x - shift
  if (norm.mean) norm.mean[row] = float(double(shift) + moments.mean);
  if (norm.inverse_std) norm.inverse_std[row] = inverse;
  const bool narrow = norm.y && norm.y.dtype == DType::bf16 && !norm.y.flushed && !norm.bytes.to &&
                      is_whole_strip(columns);
  for_strips(columns, [&](std::int64_t at, std::int64_t count) {
    const std::int64_t to = row * columns + at;
    const float* x = load_strip(source.array, source.offset + at, count, x_buffer.data());
    const NormalizedStrip strip{x, scale + at, bias + at, shift, mean, inverse};
    if (narrow)
      return row_math().normalize_to_bf16(strip, count,
                                          static_cast<std::uint16_t*>(norm.y.data) + to);
    float* y = norm.y ? result_strip(norm.y, to, y_buffer.data()) : y_buffer.data();
    row_math().normalize(strip, count, y);
    const RowBytes& bytes = norm.bytes;
    if (bytes.to)
      quantize({y, DType::f32}, {1, 1, count}, {&bytes.scale, &bytes.zero}, bytes.dtype,
               bytes.to + to);
    if (norm.y) store_strip(norm.y, to, count, y);
  });
}

// Adds the dropped-out row of x and the other row into `sum`.
void add_residual(const LayerNormForward& norm, std::int64_t row, float* sum) {
  alignas(64) StripBuffer x_buffer, other_buffer;
  alignas(64) std::array<std::uint32_t, strip_length / 2 + 16> room;
  const ResidualSum& residual = *norm.residual;
  auto* const kept = reinterpret_cast<std::uint8_t*>(residual.kept);
  for_strips(norm.layout.columns, [&](std::int64_t at, std::int64_t count) {
    const std::int64_t offset = row * norm.layout.columns + at;
    const float* x = load_strip(norm.x, offset, count, x_buffer.data());
    const float* other = load_strip(residual.other, offset, count, other_buffer.data());
    if (residual.keep < 1 || kept) {
      const auto* bits = random_shorts(residual.stream, std::uint64_t(offset), count, room.data());
      row_math().drop(
          {x, bits, residual.keep * 0x1p16F, 1 / residual.keep, kept ? kept + offset : nullptr},
          count, sum + at);
      x = sum + at;
    }
    row_math().add(x, other, count, sum + at);
    if (residual.sum) store_strip(residual.sum, offset, count, sum + at);
  });
}

struct RowSums {
  float gradient, product;  // means of g = dy * scale and of g * normal
};

// The sums of a row. Also adds dy and dy * normal to the column sums of the chunk.
RowSums row_gradient_sums(const LayerNormBackward& norm, const Row& source, std::int64_t row,
                          const float* scale, float* column_sums) {
  alignas(64) StripBuffer dy_buffer, x_buffer;
  const std::int64_t columns = norm.layout.columns;
  double gradient = 0, product = 0;
  for_strips(columns, [&](std::int64_t at, std::int64_t count) {
    const float* dy = load_strip(source.array, source.offset + at, count, dy_buffer.data());
    const float* x = load_strip(norm.x, row * columns + at, count, x_buffer.data());
    const NormalStrip strip{dy,
                            x,
                            scale + at,
                            norm.mean[row],
                            norm.inverse_std[row],
                            column_sums + at,
                            column_sums + columns + at};
    const NormalSums sums = row_math().normal_gradient(strip, count);
    gradient += double(sums.gradient);
    product += double(sums.product);
  });
  return {float(gradient / double(columns)), float(product / double(columns))};
}

// If `residual` is given, also computes the gradient that passes its dropout.
void layer_norm_backward_row(const LayerNormBackward& norm, const Row& source, std::int64_t row,
                             const float* scale, RowSums sums) {
  alignas(64) StripBuffer dy_buffer, x_buffer, dx_buffer, dropped_buffer;
  const std::int64_t columns = norm.layout.columns;
  const ResidualGradient* residual = norm.residual;
  for_strips(columns, [&](std::int64_t at, std::int64_t count) {
    const std::int64_t offset = row * columns + at;
    const float* dy = load_strip(source.array, source.offset + at, count, dy_buffer.data());
    const float* x = load_strip(norm.x, offset, count, x_buffer.data());
    float* dx = norm.dx ? result_strip(norm.dx, offset, dx_buffer.data()) : dx_buffer.data();
    const NormalStrip strip{dy,      x,      scale + at, norm.mean[row], norm.inverse_std[row],
                            nullptr, nullptr};
    row_math().normal_dx(strip, {sums.gradient, sums.product}, count, dx);
    if (norm.dx) store_strip(norm.dx, offset, count, dx);
    if (!residual || !residual->dropped) return;
    float* dropped = result_strip(residual->dropped, offset, dropped_buffer.data());
    row_math().drop_again(dx, reinterpret_cast<const std::uint8_t*>(residual->kept) + offset,
                          residual->factor, count, dropped);
    store_strip(residual->dropped, offset, count, dropped);
  });
}

// Adds the row's dy and the other gradients into `sum`.
void add_gradients(const LayerNormBackward& norm, std::int64_t row, float* sum) {
  alignas(64) StripBuffer buffer;
  for_strips(norm.layout.columns, [&](std::int64_t at, std::int64_t count) {
    const std::int64_t offset = row * norm.layout.columns + at;
    const float* first = load_strip(norm.dy, offset, count, sum + at);
    for (const ConstArray& more : norm.residual->more) {
      if (!more) break;
      row_math().add(first, load_strip(more, offset, count, buffer.data()), count, sum + at);
      first = sum + at;
    }
  });
}

using RowBuffer = std::array<float, most_residual_columns>;

void backward_rows(const LayerNormBackward& norm, std::int64_t begin, std::int64_t end,
                   const float* scale, float* column_sums) {
  alignas(64) RowBuffer sum;
  const bool adds = norm.residual && norm.residual->more[0];
  for (std::int64_t row = begin; row < end; ++row) {
    if (adds) add_gradients(norm, row, sum.data());
    const Row source =
        adds ? Row{{sum.data(), DType::f32}, 0} : Row{norm.dy, row * norm.layout.columns};
    const RowSums sums = row_gradient_sums(norm, source, row, scale, column_sums);
    if (norm.dx || (norm.residual && norm.residual->dropped))
      layer_norm_backward_row(norm, source, row, scale, sums);
  }
}

// Whether a sum is that of rows of bf16 and of bf16 or f32, of which nothing else is asked.
bool sums_narrow_rows(const LayerNormForward& norm) {
  const ResidualSum& residual = *norm.residual;
  return norm.x.dtype == DType::bf16 && residual.other.dtype != DType::f16 && !residual.sum &&
         residual.keep == 1 && !residual.kept && is_whole_strip(norm.layout.columns);
}

// The sum of x and the residual, measured while it is made.
MeasuredRow narrow_sum(const LayerNormForward& norm, std::int64_t row, float* sum) {
  const std::int64_t columns = norm.layout.columns, at = row * columns;
  const ConstArray& other = norm.residual->other;
  const bool wide = other.dtype == DType::f32;
  float x_room = 0, other_room = 0;
  const float shift =
      finite_or_zero(*load_strip(norm.x, at, 1, &x_room) + *load_strip(other, at, 1, &other_room));
  const auto [mean, squares] = row_math().narrow_sum_moments(
      {row_of<std::uint16_t>(norm.x, at), wide ? nullptr : row_of<std::uint16_t>(other, at),
       wide ? row_of<float>(other, at) : nullptr, shift, sum},
      columns);
  return {{{sum, DType::f32}, 0}, shift, {double(columns), double(mean), double(squares)}};
}

void forward_rows(const LayerNormForward& norm, std::int64_t begin, std::int64_t end,
                  const float* scale, const float* bias) {
  alignas(64) RowBuffer sum;
  const std::int64_t columns = norm.layout.columns;
  const bool narrow = norm.residual && sums_narrow_rows(norm);
  for (std::int64_t row = begin; row < end; ++row) {
    if (narrow) {
      forward_row(norm, narrow_sum(norm, row, sum.data()), row, scale, bias);
      continue;
    }
    if (norm.residual) add_residual(norm, row, sum.data());
    const Row source =
        norm.residual ? Row{{sum.data(), DType::f32}, 0} : Row{norm.x, row * columns};
    forward_row(norm, measured(source, columns), row, scale, bias);
  }
}

// Adds the column sums of all chunks in their order.
void join_column_sums(const Array& result, const float* partial, std::int64_t stride,
                      const RowLayout& layout) {
  if (!result) return;
  const std::int64_t chunks = chunk_count(layout);
  parallel_for(layout.columns, strip_length, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, strip_length> sum{};
    alignas(64) StripBuffer strip;
    const std::int64_t count = end - begin;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      for (std::int64_t j = 0; j < count; ++j)
        sum[std::size_t(j)] += double(partial[chunk * stride + begin + j]);
    std::transform(sum.begin(), sum.begin() + count, strip.begin(),
                   [](double value) { return float(value); });
    store_strip(result, begin, count, strip.data());
  });
}

}  // namespace

std::int64_t layer_norm_workspace(const RowLayout& layout) {
  return 2 * layout.columns * std::int64_t(sizeof(float));
}

void layer_norm_forward(const LayerNormForward& norm, void* workspace) {
  const std::int64_t columns = norm.layout.columns;
  if (norm.layout.rows == 0 || columns == 0) return;
  float* room = static_cast<float*>(workspace);
  const float* scale = per_column(norm.scale, columns, 1, room);
  const float* bias = per_column(norm.bias, columns, 0, room + columns);
  parallel_for(norm.layout.rows, row_grain(norm.layout), [&](std::int64_t begin, std::int64_t end) {
    forward_rows(norm, begin, end, scale, bias);
  });
}

std::int64_t layer_norm_backward_workspace(const RowLayout& layout) {
  return (1 + 2 * chunk_count(layout)) * layout.columns * std::int64_t(sizeof(float));
}

void layer_norm_backward(const LayerNormBackward& norm, void* workspace) {
  const RowLayout& layout = norm.layout;
  const std::int64_t columns = layout.columns;
  float* room = static_cast<float*>(workspace);
  const float* scale = per_column(norm.scale, columns, 1, room);
  float* partial = room + columns;
  const std::int64_t grain = ceil_divide(row_grain(layout), chunk_rows);
  parallel_for(chunk_count(layout), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      float* const sums = partial + chunk * 2 * columns;
      std::fill_n(sums, 2 * columns, 0.0F);
      const std::int64_t first = chunk * chunk_rows;
      backward_rows(norm, first, std::min(first + chunk_rows, layout.rows), scale, sums);
    }
  });
  join_column_sums(norm.scale_gradient, partial, 2 * columns, layout);
  join_column_sums(norm.bias_gradient, partial + columns, 2 * columns, layout);
}

}  // namespace narrowgauge::cpu
