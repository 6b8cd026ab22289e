// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/softmax_rows.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/lanes/row_math.h"

namespace narrowgauge::cpu {

void find_normalizers(const AxisLayout& layout, const AxisTile& tile, ConstArray x, Wanted wanted,
                      Normalizers& normalizers) {
  alignas(64) std::array<float, strip_length> buffer;
  alignas(64) std::array<double, strip_length> sum;
  float* largest = normalizers.largest.data();
  std::fill_n(largest, tile.width, -std::numeric_limits<float>::infinity());
  std::fill_n(sum.data(), tile.width, 0.0);
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(x, piece.offset, piece.count(), buffer.data());
    if (piece.width == 1)
      *largest = row_math().largest(value, piece.rows, *largest);
    else
      for_elements(piece, [=](std::int64_t e, std::int64_t j) {
        largest[j] = value[e] > largest[j] ? value[e] : largest[j];
      });
  });
  for_pieces(layout, tile, [&](const AxisPiece& piece) {
    const float* value = load_strip(x, piece.offset, piece.count(), buffer.data());
    if (piece.width == 1)
      sum[0] += double(row_math().exponential_sum(value, *largest, piece.rows));
    else
      for_rows(piece, [&](std::int64_t first) {
        row_math().add_exponentials(value + first, largest, piece.width, sum.data());
      });
  });
  for (std::size_t j = 0; j < std::size_t(tile.width); ++j) {
    if (wanted == Wanted::reciprocal)
      normalizers.reciprocal[j] = float(1.0 / sum[j]);
    else
      normalizers.log_sum[j] = float(std::log(sum[j]));
  }
}

void exponentials(const AxisPiece& piece, const float* x, const float* shift, const float* factor,
                  float* y) {
  if (piece.width == 1) return row_math().exponentials(x, *shift, *factor, piece.rows, y);
  for_rows(piece, [&](std::int64_t first) {
    row_math().column_exponentials(x + first, shift, factor, piece.width, y + first);
  });
}

}  // namespace narrowgauge::cpu
