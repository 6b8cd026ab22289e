// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/softmax_rows.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/vector_math.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::size_t lanes = 16;

// Joins the values of one column to its largest; NaN is left to the sum.
void join_largest(const float* x, std::int64_t count, float& largest) {
  std::array<float, lanes> most;
  most.fill(largest);
  std::int64_t i = 0;
  for (; i + std::int64_t(lanes) <= count; i += std::int64_t(lanes))
    for (std::size_t l = 0; l < lanes; ++l) {
      const float value = x[i + std::int64_t(l)];
      most[l] = value > most[l] ? value : most[l];
    }
  for (std::size_t l = 0; i < count; ++i, ++l) most[l] = x[i] > most[l] ? x[i] : most[l];
  for (const float value : most) largest = value > largest ? value : largest;
}

double exponential_sum(const float* x, std::int64_t count, float largest) {
  std::array<float, lanes> sum{};
  std::int64_t i = 0;
  for (; i + std::int64_t(lanes) <= count; i += std::int64_t(lanes))
    for (std::size_t l = 0; l < lanes; ++l) sum[l] += exp_f32(x[i + std::int64_t(l)] - largest);
  for (std::size_t l = 0; i < count; ++i, ++l) sum[l] += exp_f32(x[i] - largest);
  double total = 0;
  for (const float part : sum) total += double(part);
  return total;
}

}  // namespace

void find_normalizers(const AxisLayout& layout, const AxisTile& tile, ConstArray x, Wanted wanted,
                      Normalizers& normalizers) {
  alignas(64) std::array<float, strip_length> buffer;
  alignas(64) std::array<double, strip_length> sum;
  float* largest = normalizers.largest.data();
  std::fill_n(largest, tile.width, -std::numeric_limits<float>::infinity());
  std::fill_n(sum.data(), tile.width, 0.0);
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(x, piece.offset, piece.count(), buffer.data());
    if (piece.width == 1) return join_largest(value, piece.rows, *largest);
    for_elements(piece, [&](std::int64_t e, std::int64_t j) {
      largest[j] = value[e] > largest[j] ? value[e] : largest[j];
    });
  });
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(x, piece.offset, piece.count(), buffer.data());
    if (piece.width == 1) {
      sum[0] += exponential_sum(value, piece.rows, *largest);
      return;
    }
    for_elements(piece, [value, largest, total = sum.data()](std::int64_t e, std::int64_t j) {
      total[j] += double(exp_f32(value[e] - largest[j]));
    });
  });
  for (std::size_t j = 0; j < std::size_t(tile.width); ++j) {
    if (wanted == Wanted::reciprocal)
      normalizers.reciprocal[j] = float(1.0 / sum[j]);
    else
      normalizers.log_sum[j] = float(std::log(sum[j]));
  }
}

}  // namespace narrowgauge::cpu
