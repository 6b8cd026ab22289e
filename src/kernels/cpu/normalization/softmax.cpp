// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/softmax.h"

#include "kernels/cpu/normalization/softmax_rows.h"

namespace narrowgauge::cpu {
namespace {

struct Backward {
  const AxisLayout& layout;
  ConstArray y, dy;
  const Array& dx;
};

// The sum over the axis of term(y, dy), per column.
template <class Term>
void axis_sums(const Backward& backward, const AxisTile& tile, float* sums, const Term& term) {
  const auto& [layout, y, dy, dx] = backward;
  alignas(64) StripBuffer y_buffer, dy_buffer;
  alignas(64) std::array<double, strip_length> total;
  std::fill_n(total.data(), tile.width, 0.0);
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* y_value = load_strip(y, piece.offset, piece.count(), y_buffer.data());
    const float* dy_value = load_strip(dy, piece.offset, piece.count(), dy_buffer.data());
    if (piece.width == 1) {
      constexpr std::int64_t lanes = 16;
      std::array<float, lanes> sum{};
      std::int64_t i = 0;
      for (; i + lanes <= piece.rows; i += lanes)
        for (std::int64_t l = 0; l < lanes; ++l)
          sum[std::size_t(l)] += term(y_value[i + l], dy_value[i + l]);
      for (std::size_t l = 0; i < piece.rows; ++i, ++l) sum[l] += term(y_value[i], dy_value[i]);
      for (const float part : sum) total[0] += double(part);
      return;
    }
    for_elements(piece, [&](std::int64_t e, std::int64_t j) {
      total[std::size_t(j)] += double(term(y_value[e], dy_value[e]));
    });
  });
  for (std::size_t j = 0; j < std::size_t(tile.width); ++j) sums[j] = float(total[j]);
}

void softmax_tile(SoftmaxKind kind, const AxisLayout& layout, const AxisTile& tile, ConstArray x,
                  const Array& y) {
  alignas(64) StripBuffer x_buffer, y_buffer;
  Normalizers normalizers;
  const bool is_log = kind == SoftmaxKind::log_softmax;
  find_normalizers(layout, tile, x, is_log ? Wanted::log_sum : Wanted::reciprocal, normalizers);
  const float* largest = normalizers.largest.data();
  const float* reciprocal = normalizers.reciprocal.data();
  const float* log_sum = normalizers.log_sum.data();
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(x, piece.offset, piece.count(), x_buffer.data());
    float* result = result_strip(y, piece.offset, y_buffer.data());
    if (is_log)
      for_elements(piece, [=](std::int64_t e, std::int64_t j) {
        result[e] = value[e] - largest[j] - log_sum[j];
      });
    else
      exponentials(piece, value, largest, reciprocal, result);
    store_strip(y, piece.offset, piece.count(), result);
  });
}

void softmax_backward_tile(SoftmaxKind kind, const Backward& backward, const AxisTile& tile) {
  const auto& [layout, y, dy, dx] = backward;
  alignas(64) StripBuffer sums, share, y_buffer, dy_buffer, dx_buffer;
  alignas(64) constexpr static StripBuffer zeros{};
  const bool is_log = kind == SoftmaxKind::log_softmax;
  if (is_log)
    axis_sums(backward, tile, sums.data(), [](float, float gradient) { return gradient; });
  else
    axis_sums(backward, tile, sums.data(),
              [](float probability, float gradient) { return probability * gradient; });
  const float* sum = sums.data();
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* y_value = load_strip(y, piece.offset, piece.count(), y_buffer.data());
    const float* dy_value = load_strip(dy, piece.offset, piece.count(), dy_buffer.data());
    float* result = result_strip(dx, piece.offset, dx_buffer.data());
    if (is_log) {
      exponentials(piece, y_value, zeros.data(), sum, share.data());
      for_elements(piece, [=, part = share.data()](std::int64_t e, std::int64_t) {
        result[e] = dy_value[e] - part[e];
      });
    } else {
      for_elements(piece, [=](std::int64_t e, std::int64_t j) {
        result[e] = y_value[e] * (dy_value[e] - sum[j]);
      });
    }
    store_strip(dx, piece.offset, piece.count(), result);
  });
}

}  // namespace

void softmax_forward(SoftmaxKind kind, const AxisLayout& layout, ConstArray x, const Array& y) {
  for_axis_tiles(layout, [&](const AxisTile& tile) { softmax_tile(kind, layout, tile, x, y); });
}

void softmax_backward(SoftmaxKind kind, const AxisLayout& layout, ConstArray y, ConstArray dy,
                      const Array& dx) {
  const Backward backward{layout, y, dy, dx};
  for_axis_tiles(layout,
                 [&](const AxisTile& tile) { softmax_backward_tile(kind, backward, tile); });
}

}  // namespace narrowgauge::cpu
