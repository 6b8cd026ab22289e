// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_rows.h"

#include <immintrin.h>

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int lanes = 16;
constexpr int lines_ahead = 16;  // of weights, on their way from L2 to L1

[[gnu::always_inline]] inline void prefetch_line(const float* line) {
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0);
}

template <int rows, int vectors>
struct FloatTile {
  __m512 sums[rows][vectors];
  __mmask16 masks[vectors];

  explicit FloatTile(const FloatBlock& block) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t left = block.columns - v * lanes;
      masks[v] = static_cast<__mmask16>(left >= lanes ? 0xffff : (1 << left) - 1);
      const __m512 bias = block.bias ? _mm512_maskz_loadu_ps(masks[v], block.bias + v * lanes)
                                     : _mm512_setzero_ps();
#pragma GCC unroll 14
      for (int r = 0; r < rows; ++r) sums[r][v] = bias;
    }
  }

  // The residual's lines are on their way while the products are made.
  [[gnu::always_inline]] void prefetch_residual(const FloatBlock& block) const {
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) prefetch_line(block.residual + r * block.pitch + v * lanes);
  }

  [[gnu::always_inline]] void add_tap(const float* const* at, const float* weights,
                                      std::int64_t depth, const float* ahead) {
    const float* x[rows];
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) x[r] = at[r];
    for (std::int64_t k = 0; k < depth; ++k) {
      __m512 columns[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        columns[v] = _mm512_loadu_ps(weights + v * lanes);
        prefetch_line(weights + (lines_ahead + v) * lanes);
      }
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
#pragma GCC unroll 14
      for (int r = 0; r < rows; ++r) {
        const __m512 pixel = _mm512_set1_ps(x[r][k]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
          sums[r][v] = _mm512_fmadd_ps(pixel, columns[v], sums[r][v]);
      }
      weights += vectors * lanes;
      ahead += lanes / 2;
    }
  }

  // The second operand of a minimum or maximum is its result where it is NaN.
  [[gnu::always_inline]] void store(const FloatBlock& block) const {
    const __m512 least = _mm512_set1_ps(block.bounds.least);
    const __m512 most = _mm512_set1_ps(block.bounds.most);
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t at = r * block.pitch + v * lanes;
        __m512 sum = sums[r][v];
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

template <int rows, int vectors>
void multiply(const FloatBlock& block) {
  FloatTile<rows, vectors> tile(block);
  if (block.residual) tile.prefetch_residual(block);
  for (std::int64_t tap = 0; tap < block.taps; ++tap) {
    const float* const* const at = block.rows + tap * float_block_rows;
    const std::int64_t begin = tap * block.depth;
    if (*at)
      tile.add_tap(at, block.weights + begin * vectors * lanes, block.depth,
                   block.ahead + begin * lanes / 2);
  }
  tile.store(block);
}

template <int vectors>
void multiply_rows(const FloatBlock& block) {
  static constexpr void (*of_rows[float_block_rows])(const FloatBlock&) = {
      multiply<1, vectors>,  multiply<2, vectors>,  multiply<3, vectors>,  multiply<4, vectors>,
      multiply<5, vectors>,  multiply<6, vectors>,  multiply<7, vectors>,  multiply<8, vectors>,
      multiply<9, vectors>,  multiply<10, vectors>, multiply<11, vectors>, multiply<12, vectors>,
      multiply<13, vectors>, multiply<14, vectors>};
  of_rows[block.row_count - 1](block);
}

}  // namespace

void multiply_float_block(const FloatBlock& block) {
  block.columns > lanes ? multiply_rows<2>(block) : multiply_rows<1>(block);
}

void end_float_streams() { _mm_sfence(); }

}  // namespace narrowgauge::cpu::avx512
