// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_rows.h"

#include "kernels/cpu/floats/float_tile_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int lines_ahead = 16;  // of weights, on their way from L2 to L1

[[gnu::always_inline]] inline void prefetch_line(const float* line) {
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0);
}

// The residual's lines are on their way while the products are made.
template <int rows, int vectors>
[[gnu::always_inline]] inline void prefetch_residual(const FloatResults& results) {
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      prefetch_line(results.residual + r * results.pitch + v * lanes);
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void add_tap(FloatTile<rows, vectors>& tile, const float* const* at,
                                           const float* weights, std::int64_t depth,
                                           const float* ahead) {
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
        tile.sums[r][v] = _mm512_fmadd_ps(pixel, columns[v], tile.sums[r][v]);
    }
    weights += vectors * lanes;
    ahead += lanes / 2;
  }
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void add_taps(FloatTile<rows, vectors>& tile,
                                            const FloatBlock& block) {
  for (std::int64_t tap = 0; tap < block.taps; ++tap) {
    const float* const* const at = block.rows + tap * float_block_rows;
    const std::int64_t begin = tap * block.depth;
    if (*at)
      add_tap(tile, at, block.weights + begin * vectors * lanes, block.depth,
              block.ahead + begin * lanes / 2);
  }
}

// The compiler moves sums from register to register around the loop over taps: a single one has
// functions without it.
template <int rows, int vectors, bool single>
void multiply(const FloatBlock& block) {
  FloatTile<rows, vectors> tile(block.results);
  if (block.results.residual) prefetch_residual<rows, vectors>(block.results);
  if constexpr (single)
    add_tap(tile, block.rows, block.weights, block.depth, block.ahead);
  else
    add_taps(tile, block);
  tile.store(block.results);
}

template <int vectors, bool single>
void multiply_rows(const FloatBlock& block) {
  static constexpr void (*of_rows[float_block_rows])(const FloatBlock&) = {
      multiply<1, vectors, single>,  multiply<2, vectors, single>,  multiply<3, vectors, single>,
      multiply<4, vectors, single>,  multiply<5, vectors, single>,  multiply<6, vectors, single>,
      multiply<7, vectors, single>,  multiply<8, vectors, single>,  multiply<9, vectors, single>,
      multiply<10, vectors, single>, multiply<11, vectors, single>, multiply<12, vectors, single>,
      multiply<13, vectors, single>, multiply<14, vectors, single>};
  of_rows[block.row_count - 1](block);
}

template <bool single>
void multiply_channels(const FloatBlock& block) {
  block.results.channels > lanes ? multiply_rows<2, single>(block)
                                 : multiply_rows<1, single>(block);
}

}  // namespace

void multiply_float_block(const FloatBlock& block) {
  block.taps == 1 && *block.rows ? multiply_channels<true>(block) : multiply_channels<false>(block);
}

void end_float_streams() { _mm_sfence(); }

}  // namespace narrowgauge::cpu::avx512
