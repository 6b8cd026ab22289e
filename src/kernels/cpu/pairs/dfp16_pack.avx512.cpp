// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/pairs/dfp16_scales_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// Narrows 32 int32 to int16.
[[gnu::always_inline]] inline __m512i narrowed(__m512i low, __m512i high) {
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  return _mm512_maskz_permutexvar_epi64(0xff, order, _mm512_packs_epi32(low, high));
}

struct RowExtent {
  __m512i largest;
  float squares;
};

[[gnu::always_inline]] inline RowExtent joined(const Extent& a, const Extent& b) {
  const __m512i most = _mm512_maskz_max_epu32(all, a.largest, b.largest);
  return {_mm512_set1_epi32(static_cast<int>(_mm512_reduce_max_epu32(most))),
          _mm512_reduce_add_ps(_mm512_add_ps(a.squares, b.squares))};
}

// Packs a block of a row; `vectors` is even. Returns the factor for sums of its integers.
[[gnu::always_inline]] inline float finish_row(const __m512* values, int vectors,
                                               const RowExtent& extent, bool power_of_two,
                                               float factor, std::byte* q) {
  __m512 bound = norm_bound(_mm512_set1_ps(extent.squares));
  if (!squares_are_exact(extent.largest)) {
    const __m512 factor_in = normalizer(extent.largest);
    __m512 sum = _mm512_setzero_ps();
    for (int v = 0; v < vectors; ++v) {
      const __m512 scaled = _mm512_mul_ps(values[v], factor_in);
      sum = _mm512_fmadd_ps(scaled, scaled, sum);
    }
    bound = _mm512_mul_ps(norm_bound(_mm512_set1_ps(_mm512_reduce_add_ps(sum))), factor_in);
  }
  const Scales scales = scales_for(extent.largest, bound, power_of_two, factor);
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v += 2)
    _mm512_storeu_si512(q + 32 * v, narrowed(quantised(values[v], scales.forth),
                                             quantised(values[v + 1], scales.forth)));
  return _mm512_cvtss_f32(scales.back);
}

constexpr int block_vectors = pair_block / 16;

template <class T>
[[gnu::always_inline]] inline float whole_block(const T* x, std::byte* q, float factor) {
  __m512 values[block_vectors];
  Extent extent[2];
#pragma GCC unroll 16
  for (int v = 0; v < block_vectors; ++v) {
    values[v] = load(x + 16 * v, all);
    extent[v % 2].add(values[v]);
  }
  return finish_row(values, block_vectors, joined(extent[0], extent[1]), sizeof(T) == 2, factor, q);
}

template <class T>
float part_of_block(const T* x, std::int64_t count, std::byte* q, float factor) {
  __m512 values[block_vectors];
  Extent extent;
  int vectors = 0;
  for (; 16 * vectors < count; ++vectors) {
    values[vectors] = load(x + 16 * vectors, first(count - 16 * vectors));
    extent.add(values[vectors]);
  }
  if (vectors % 2 != 0) values[vectors++] = _mm512_setzero_ps();
  return finish_row(values, vectors, joined(extent, {}), sizeof(T) == 2, factor, q);
}

template <class T>
void pack_row(const T* x, std::int64_t depth, std::byte* q, float* scales, float factor) {
  std::int64_t k = 0;
  for (; k + pair_block <= depth; k += pair_block)
    *scales++ = whole_block(x + k, q + 2 * k, factor);
  if (k < depth) *scales = part_of_block(x + k, depth - k, q + 2 * k, factor);
}

// Two vectors in which each lane holds one column of values, `stride` elements apart.
template <class T>
struct Lanes {
  const T* x;
  std::int64_t stride, second;  // elements from the first vector to the second
  __mmask16 mask[2];

  [[gnu::always_inline]] __m512 at(std::int64_t k, int v) const {
    return load(x + k * stride + v * second, mask[v]);
  }
};

template <class T>
[[gnu::always_inline]] inline void lane_scales(const Lanes<T>& lanes, std::int64_t begin,
                                               std::int64_t end, float factor,
                                               Scales (&scales)[2]) {
  Extent extent[2];
  for (std::int64_t k = begin; k < end; ++k) {
    extent[0].add(lanes.at(k, 0));
    extent[1].add(lanes.at(k, 1));
  }
  for (int v = 0; v < 2; ++v) {
    const __m512i largest = extent[v].largest;
    __m512 bound = norm_bound(extent[v].squares);
    if (!squares_are_exact(largest)) {
      const __m512 factor_in = normalizer(largest);
      __m512 sum = _mm512_setzero_ps();
      for (std::int64_t k = begin; k < end; ++k) {
        const __m512 scaled = _mm512_mul_ps(lanes.at(k, v), factor_in);
        sum = _mm512_fmadd_ps(scaled, scaled, sum);
      }
      bound = _mm512_mul_ps(norm_bound(sum), factor_in);
    }
    scales[v] = scales_for(largest, bound, sizeof(T) == 2, factor);
  }
}

struct LaneTarget {
  std::byte* q[2];
  std::int64_t pair_bytes;
  float* scales[2];
  float factor;
};

template <class T>
void pack_lanes(const Lanes<T>& lanes, std::int64_t depth, const LaneTarget& to) {
  Scales scales[2];
  lane_scales(lanes, 0, depth, to.factor, scales);
  for (int v = 0; v < 2; ++v)
    if (to.q[v]) _mm512_storeu_ps(to.scales[v], scales[v].back);
  std::byte *q0 = to.q[0], *q1 = to.q[1];
  for (std::int64_t k = 0; k < depth; k += 2) {
    const bool two = k + 1 < depth;
    const auto pair = [&](int v) __attribute__((always_inline)) {
      const __m512i even = quantised(lanes.at(k, v), scales[v].forth);
      const __m512i odd =
          two ? quantised(lanes.at(k + 1, v), scales[v].forth) : _mm512_setzero_si512();
      return as_pairs(even, odd);
    };
    _mm512_storeu_si512(q0, pair(0));
    q0 += to.pair_bytes;
    if (!q1) continue;
    _mm512_storeu_si512(q1, pair(1));
    q1 += to.pair_bytes;
  }
}

void pack_lanes(const PairSource& source, std::int64_t width, std::int64_t count,
                std::int64_t depth, const LaneTarget& to) {
  as_elements(source.dtype, source.data, [&]<class T>(const T* x) {
    const Lanes<T> lanes{x,
                         source.stride,
                         width,
                         {first(std::min(width, count)), first(std::min(width, count - width))}};
    pack_lanes(lanes, depth, to);
  });
}

std::int64_t block_count(std::int64_t depth) { return (depth + pair_block - 1) / pair_block; }

void pack_rows(const PairSource& source, std::int64_t rows, std::int64_t depth, const RowPairs& to,
               float factor) {
  as_elements(source.dtype, source.data, [&](const auto* x) {
    for (std::int64_t r = 0; r < rows; ++r)
      pack_row(x + r * source.stride, depth, to.q + r * to.row_bytes,
               to.scales + r * block_count(depth), factor);
  });
}

void rows(const PairSource& source, std::int64_t count, std::int64_t depth, const RowPairs& to) {
  pack_rows(source, count, depth, to, row_factor);
}

void rows_as_columns(const PairSource& source, std::int64_t columns, std::int64_t depth,
                     const ColumnPairs& to, std::byte* scratch) {
  const std::int64_t row_bytes = packed_row_bytes(depth), blocks = block_count(depth);
  auto* const scales = reinterpret_cast<float*>(scratch + pair_columns * row_bytes);
  pack_rows(source, columns, depth, {scratch, row_bytes, scales}, column_factor);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t c = 0; c < (to.wide ? 32 : 16); ++c)
      to.scales[block * pair_columns + c] = c < columns ? scales[c * blocks + block] : 0;
  rows_to_columns(scratch, columns, depth, to);
}

void columns_block(const PairSource& source, std::int64_t columns, std::int64_t depth,
                   const ColumnPairs& to) {
  const bool wide = to.wide;
  pack_lanes(source, 16, columns, depth,
             {{to.q, wide ? to.q + 64 : nullptr},
              wide ? 128 : 64,
              {to.scales, wide ? to.scales + 16 : nullptr},
              column_factor});
}

void panels_block(const PairSource& source, std::int64_t count, std::int64_t depth,
                  const PanelPairs& to) {
  const bool two = count > pair_panel;
  pack_lanes(source, pair_panel, count, depth,
             {{to.q, two ? to.q + to.panel_bytes : nullptr},
              64,
              {to.scales, two ? to.scales + to.panel_scales : nullptr},
              row_factor});
}

}  // namespace

const PairUnit dfp16_unit{.implementation = "dfp16, vnni",
                          .facts = {.isa = Isa::vnni, .way = Math::dfp16},
                          .has_scales = true,
                          .kernel = dfp16_kernel,
                          .store = dfp16_store,
                          .rows = rows,
                          .rows_as_columns = rows_as_columns,
                          .columns_block = columns_block,
                          .panels_block = panels_block,
                          .row = dfp16_pack_row};

}  // namespace narrowgauge::cpu::avx512
