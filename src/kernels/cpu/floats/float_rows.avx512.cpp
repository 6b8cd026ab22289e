// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_rows.h"

#include <cstddef>
#include <utility>

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
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      prefetch_line(results.residual + r * results.pitch + v * lanes);
}

// Prefetches stand between products: next to the loads of weights they would wait for these.
template <bool fetched, int rows, int vectors>
[[gnu::always_inline]] inline void add_tap(FloatTile<rows, vectors>& tile, const float* const* at,
                                           const float* weights, std::int64_t depth,
                                           const float* ahead) {
  const float* x[rows];
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r) x[r] = at[r];
  for (std::int64_t k = 0; k < depth; ++k) {
    __m512 columns[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_ps(weights + v * lanes);
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const __m512 pixel = _mm512_set1_ps(x[r][k]);
      if (fetched && r < vectors) prefetch_line(weights + (lines_ahead + r) * lanes);
      if (r == rows / 2) _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v)
        tile.sums[r][v] = _mm512_fmadd_ps(pixel, columns[v], tile.sums[r][v]);
    }
    weights += vectors * lanes;
    ahead += lanes / 2;
  }
}

template <bool fetched, int rows, int vectors>
[[gnu::always_inline]] inline void add_taps(FloatTile<rows, vectors>& tile,
                                            const FloatBlock& block) {
  for (std::int64_t tap = 0; tap < block.taps; ++tap) {
    const float* const* const at = block.rows + tap * float_block_rows;
    const std::int64_t begin = tap * block.depth;
    if (*at)
      add_tap<fetched>(tile, at, block.weights + begin * vectors * lanes, block.depth,
                       block.ahead + begin * lanes / 2);
  }
}

template <int rows, int vectors, bool fetched>
void multiply(const FloatBlock& block) {
  FloatTile<rows, vectors> tile(block.results);
  if (block.results.residual) prefetch_residual<rows, vectors>(block.results);
  add_taps<fetched>(tile, block);
  tile.store(block.results);
}

using Multiply = void (*)(const FloatBlock&);

template <int vectors, bool fetched, std::size_t... row>
Multiply of_rows(std::int64_t rows, std::index_sequence<row...>) {
  static constexpr Multiply all[] = {multiply<row + 1, vectors, fetched>...};
  return all[rows - 1];
}

template <int vectors, bool fetched>
Multiply of_rows(std::int64_t rows) {
  return of_rows<vectors, fetched>(rows, std::make_index_sequence<float_block_pixels(vectors)>());
}

template <bool fetched>
Multiply of_channels(const FloatBlock& block) {
  if (block.results.channels > 2 * lanes) return of_rows<3, fetched>(block.row_count);
  if (block.results.channels > lanes) return of_rows<2, fetched>(block.row_count);
  return of_rows<1, fetched>(block.row_count);
}

}  // namespace

void multiply_float_block(const FloatBlock& block) {
  constexpr std::int64_t most_in_l1 = 6 << 10;  // floats of a panel
  const std::int64_t floats = block.taps * block.depth * block.results.channels;
  (floats > most_in_l1 ? of_channels<true>(block) : of_channels<false>(block))(block);
}

void end_float_streams() { _mm_sfence(); }

}  // namespace narrowgauge::cpu::avx512
