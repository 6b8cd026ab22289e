// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_depthwise.h"

#include "kernels/cpu/floats/float_tile_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

template <int vectors>
[[gnu::always_inline]] inline void prefetch(const DepthwiseBlock& block) {
  for (std::int64_t line = 0; line < block.lines_ahead; ++line)
    for (std::int64_t column = 0; column < block.columns_ahead; ++column) {
      const float* const next =
          block.x + block.ahead + line * block.line_pitch + column * block.column_pitch;
      for (int v = 0; v < vectors; ++v)
        _mm_prefetch(reinterpret_cast<const char*>(next + v * lanes), _MM_HINT_T0);
    }
}

// Vectors that are full are read without their masks, as operands of the FMA.
template <bool full, int pixels, int vectors>
[[gnu::always_inline]] inline void add_taps(FloatTile<pixels, vectors>& tile,
                                            const DepthwiseBlock& block) {
  const std::int64_t pitch = block.pixel_pitch;
  for (std::int64_t tap = 0; tap < block.tap_count; ++tap) {
    const float* const x = block.x + block.taps[tap].x;
    const float* const weights = block.weights + block.taps[tap].weights;
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      const __m512 w = _mm512_loadu_ps(weights + v * lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        const float* const pixel = x + p * pitch + v * lanes;
        const __m512 values =
            full ? _mm512_loadu_ps(pixel) : _mm512_maskz_loadu_ps(tile.masks[v], pixel);
        tile.sums[p][v] = _mm512_fmadd_ps(values, w, tile.sums[p][v]);
      }
    }
  }
}

template <int pixels, int vectors>
void multiply(const DepthwiseBlock& block) {
  FloatTile<pixels, vectors> tile(block.results);
  prefetch<vectors>(block);
  if (block.results.channels == vectors * lanes)
    add_taps<true>(tile, block);
  else
    add_taps<false>(tile, block);
  tile.store(block.results);
}

template <int vectors>
void multiply_pixels(const DepthwiseBlock& block) {
  static constexpr void (*of_pixels[depthwise_pixels])(const DepthwiseBlock&) = {
      multiply<1, vectors>, multiply<2, vectors>, multiply<3, vectors>, multiply<4, vectors>,
      multiply<5, vectors>, multiply<6, vectors>, multiply<7, vectors>, multiply<8, vectors>};
  of_pixels[block.pixel_count - 1](block);
}

}  // namespace

void multiply_depthwise_block(const DepthwiseBlock& block) {
  block.results.channels > lanes ? multiply_pixels<2>(block) : multiply_pixels<1>(block);
}

}  // namespace narrowgauge::cpu::avx512
