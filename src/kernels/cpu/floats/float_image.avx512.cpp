// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_image.h"

#include "kernels/cpu/floats/float_tile_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// The lines of y that are stored next are on their way while the products are made: a part of them
// for each column of the window.
template <int pixels, int vectors>
[[gnu::always_inline]] inline void prefetch_next(const FloatResults& results, std::int64_t column,
                                                 std::int64_t columns) {
  for (std::int64_t p = column; p < pixels; p += columns)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      _mm_prefetch(
          reinterpret_cast<const char*>(results.y + (pixels + p) * results.pitch + v * lanes),
          _MM_HINT_T0);
}

template <int pixels, int vectors, int stride>
void multiply_pixels(const ImageLine& line, std::int64_t first) {
  FloatResults results = line.results;
  results.y += first * results.pitch;
  if (results.residual) results.residual += first * results.pitch;
  FloatTile<pixels, vectors> tile(results);
  const float* weights = line.weights;
  for (std::int64_t k = 0; k < line.width; ++k) {
    const float* row = line.rows + first * stride + k;
    if (!results.streams) prefetch_next<pixels, vectors>(results, k, line.width);
    for (std::int64_t i = 0; i < line.row_count; ++i) {
      __m512 columns[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_ps(weights + v * lanes);
#pragma GCC unroll 14
      for (int p = 0; p < pixels; ++p) {
        const __m512 pixel = _mm512_set1_ps(row[p * stride]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
          tile.sums[p][v] = _mm512_fmadd_ps(pixel, columns[v], tile.sums[p][v]);
      }
      row += line.row_pitch;
      weights += vectors * lanes;
    }
  }
  tile.store(results);
}

template <int vectors, int stride>
void multiply_line(const ImageLine& line) {
  std::int64_t pixel = 0;
  for (; pixel + 14 <= line.pixels; pixel += 14) multiply_pixels<14, vectors, stride>(line, pixel);
  for (; pixel + 6 <= line.pixels; pixel += 6) multiply_pixels<6, vectors, stride>(line, pixel);
  for (; pixel + 2 <= line.pixels; pixel += 2) multiply_pixels<2, vectors, stride>(line, pixel);
  for (; pixel < line.pixels; ++pixel) multiply_pixels<1, vectors, stride>(line, pixel);
}

template <int stride>
void multiply_channels(const ImageLine& line) {
  line.results.channels > lanes ? multiply_line<2, stride>(line) : multiply_line<1, stride>(line);
}

}  // namespace

void multiply_image_line(const ImageLine& line) {
  switch (line.stride) {
    case 1:
      return multiply_channels<1>(line);
    case 2:
      return multiply_channels<2>(line);
    default:
      return multiply_channels<4>(line);
  }
}

}  // namespace narrowgauge::cpu::avx512
