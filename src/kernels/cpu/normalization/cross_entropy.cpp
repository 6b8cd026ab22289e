// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/softmax.h"
#include "kernels/cpu/normalization/softmax_rows.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

// The weight of a label, 0 if it is ignored.
float weight_of(const CrossEntropy& common, std::int64_t row) {
  const std::int64_t label = common.labels[row];
  if (common.ignores && label == common.ignored) return 0.0F;
  require<DataError>(label >= 0 && label < common.layout.axis, "softmax cross entropy: label ",
                     label, " at ", row, " is outside the classes 0 to ", common.layout.axis - 1);
  return common.weights ? common.weights[label] : 1.0F;
}

void write_log_probabilities(const CrossEntropyForward& forward, const AxisTile& tile,
                             const Normalizers& normalizers) {
  alignas(64) StripBuffer x_buffer, y_buffer;
  const float* largest = normalizers.largest.data();
  const float* log_sum = normalizers.log_sum.data();
  for_pieces(forward.common.layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(forward.logits, piece.offset, piece.count(), x_buffer.data());
    float* result = result_strip(forward.log_probabilities, piece.offset, y_buffer.data());
    for_elements(piece, [=](std::int64_t e, std::int64_t j) {
      result[e] = value[e] - largest[j] - log_sum[j];
    });
    store_strip(forward.log_probabilities, piece.offset, piece.count(), result);
  });
}

void forward_tile(const CrossEntropyForward& forward, const AxisTile& tile) {
  const CrossEntropy& common = forward.common;
  Normalizers normalizers;
  find_normalizers(common.layout, tile, forward.logits, Wanted::log_sum, normalizers);
  for (std::int64_t j = 0; j < tile.width; ++j) {
    const std::int64_t row = tile.first + j;
    const float weight = weight_of(common, row);
    const bool ignored = common.ignores && common.labels[row] == common.ignored;
    if (forward.row_weights) forward.row_weights[row] = weight;
    forward.loss[row] = 0.0F;
    if (ignored) continue;
    float buffer;
    const std::int64_t at = tile.offset + common.labels[row] * common.layout.inner + j;
    const float logit = *load_strip(forward.logits, at, 1, &buffer);
    const auto column = std::size_t(j);
    forward.loss[row] =
        weight * (normalizers.log_sum[column] - (logit - normalizers.largest[column]));
  }
  if (forward.log_probabilities) write_log_probabilities(forward, tile, normalizers);
}

void cross_entropy_backward_tile(const CrossEntropyBackward& backward, const AxisTile& tile) {
  alignas(64) StripBuffer gradients, x_buffer, dx_buffer;
  const CrossEntropy& common = backward.common;
  Normalizers normalizers;
  find_normalizers(common.layout, tile, backward.logits, Wanted::reciprocal, normalizers);
  for (std::int64_t j = 0; j < tile.width; ++j) {
    const std::int64_t row = tile.first + j;
    const float loss_gradient = backward.loss_gradient[backward.one_loss_gradient ? 0 : row];
    gradients[std::size_t(j)] = weight_of(common, row) * loss_gradient * backward.factor;
  }
  const float* largest = normalizers.largest.data();
  const float* reciprocal = normalizers.reciprocal.data();
  const float* gradient = gradients.data();
  const std::int64_t* labels = common.labels + tile.first;
  for_pieces(common.layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(backward.logits, piece.offset, piece.count(), x_buffer.data());
    float* result = result_strip(backward.logits_gradient, piece.offset, dx_buffer.data());
    exponentials(piece, value, largest, reciprocal, result);
    for (std::int64_t j = 0; j < piece.width; ++j) {
      if (labels[j] < piece.position) continue;  // an ignored label may be any number
      const std::int64_t row = labels[j] - piece.position;
      if (row < piece.rows) result[row * piece.width + j] -= 1.0F;
    }
    for_elements(piece, [=](std::int64_t e, std::int64_t j) { result[e] *= gradient[j]; });
    store_strip(backward.logits_gradient, piece.offset, piece.count(), result);
  });
}

}  // namespace

void cross_entropy_forward(const CrossEntropyForward& forward) {
  for_axis_tiles(forward.common.layout, [&](const AxisTile& tile) { forward_tile(forward, tile); });
}

void cross_entropy_backward(const CrossEntropyBackward& backward) {
  for_axis_tiles(backward.common.layout,
                 [&](const AxisTile& tile) { cross_entropy_backward_tile(backward, tile); });
}

}  // namespace narrowgauge::cpu
