// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_depthwise.h"

#include <immintrin.h>

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int width = 16;  // channels of a vector

template <int pixels, int vectors>
struct DepthwiseTile {
  __m512 sums[pixels][vectors];
  __mmask16 masks[vectors];

  explicit DepthwiseTile(const DepthwiseBlock& block) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t left = block.channels - v * width;
      masks[v] = static_cast<__mmask16>(left >= width ? 0xffff : (1 << left) - 1);
      const __m512 bias = block.bias ? _mm512_maskz_loadu_ps(masks[v], block.bias + v * width)
                                     : _mm512_setzero_ps();
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) sums[p][v] = bias;
    }
  }

  [[gnu::always_inline]] void prefetch(const DepthwiseBlock& block) const {
    for (std::int64_t line = 0; line < block.lines_ahead; ++line)
      for (std::int64_t column = 0; column < block.columns_ahead; ++column) {
        const float* const next =
            block.x + block.ahead + line * block.line_pitch + column * block.column_pitch;
        for (int v = 0; v < vectors; ++v)
          _mm_prefetch(reinterpret_cast<const char*>(next + v * width), _MM_HINT_T0);
      }
  }

  // Vectors that are full are read without their masks, as operands of the FMA.
  template <bool full>
  [[gnu::always_inline]] void add_taps(const DepthwiseBlock& block) {
    const std::int64_t pitch = block.pixel_pitch;
    for (std::int64_t tap = 0; tap < block.tap_count; ++tap) {
      const float* const x = block.x + block.taps[tap].x;
      const float* const weights = block.weights + block.taps[tap].weights;
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const __m512 w = _mm512_loadu_ps(weights + v * width);
#pragma GCC unroll 8
        for (int p = 0; p < pixels; ++p) {
          const float* const pixel = x + p * pitch + v * width;
          const __m512 values =
              full ? _mm512_loadu_ps(pixel) : _mm512_maskz_loadu_ps(masks[v], pixel);
          sums[p][v] = _mm512_fmadd_ps(values, w, sums[p][v]);
        }
      }
    }
  }

  [[gnu::always_inline]] void store(const DepthwiseBlock& block) const {
    const __m512 least = _mm512_set1_ps(block.bounds.least);
    const __m512 most = _mm512_set1_ps(block.bounds.most);
#pragma GCC unroll 8
    for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t at = p * block.pitch + v * width;
        __m512 sum = sums[p][v];
        if (block.residual)
          sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(masks[v], block.residual + at));
        sum = _mm512_min_ps(most, _mm512_max_ps(least, sum));
        if (block.streams)
          _mm512_stream_ps(block.y + at, sum);
        else
          _mm512_mask_storeu_ps(block.y + at, masks[v], sum);
      }
  }
};

template <int pixels, int vectors>
void multiply(const DepthwiseBlock& block) {
  DepthwiseTile<pixels, vectors> tile(block);
  tile.prefetch(block);
  if (block.channels == vectors * width)
    tile.template add_taps<true>(block);
  else
    tile.template add_taps<false>(block);
  tile.store(block);
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
  block.channels > width ? multiply_pixels<2>(block) : multiply_pixels<1>(block);
}

}  // namespace narrowgauge::cpu::avx512
