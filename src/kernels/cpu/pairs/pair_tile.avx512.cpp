// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pairs/pair_tile.h"

#include <immintrin.h>

#include <bit>

#include "kernels/cpu/lanes/assembly_avx512.h"
#include "kernels/cpu/lanes/bf16_avx512.h"
#include "kernels/cpu/pairs/pair_lanes_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// How a format multiplies pairs and narrows two vectors to bf16.
struct Dfp16 {
  static constexpr bool has_scales = true;
  [[gnu::always_inline]] static __m512i narrow(__m512 low, __m512 high) {
    alignas(64) static constexpr std::uint16_t upper[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_permutex2var_epi16(rounded_to_bf16(low), _mm512_load_si512(upper),
                                     rounded_to_bf16(high));
  }
  [[gnu::always_inline]] static void multiply_add(__m512i& sum, __m512i a, __m512i b) {
    add_products_of_int16(sum, a, b);
  }
};
struct Bf16 {
  static constexpr bool has_scales = false;
  [[gnu::always_inline]] static __m512i narrow(__m512 low, __m512 high) {
    return as_bf16(low, high);
  }
  [[gnu::always_inline]] static void multiply_add(__m512i& sum, __m512i a, __m512i b) {
    add_products_of_bf16(sum, a, b);
  }
};

template <class Unit, int half, int vectors>
struct Tile {
  __m512i sums[2 * half][vectors];  // int32 or f32

  [[gnu::always_inline]] void clear() {
#pragma GCC unroll 14
    for (int i = 0; i < 2 * half; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_setzero_si512();
  }

  template <int row>
  [[gnu::always_inline]] void half_of(int first, const std::byte* a, const Pitches& pitch,
                                      const __m512i (&b)[vectors]) {
    if constexpr (row < half) {
      const __m512i x = broadcast<row>(a, pitch);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) Unit::multiply_add(sums[first + row][v], x, b[v]);
      half_of<row + 1>(first, a, pitch, b);
    }
  }

  [[gnu::always_inline]] void add(float* to, __mmask16 before) {
#pragma GCC unroll 14
    for (int i = 0; i < 2 * half; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        float* const at = to + i * pair_columns + 16 * v;
        _mm512_store_ps(
            at, _mm512_add_ps(_mm512_maskz_load_ps(before, at), _mm512_castsi512_ps(sums[i][v])));
      }
  }

  [[gnu::always_inline]] void add_scaled(const PairTile& tile, const float* b_scale,
                                         std::int64_t offset, std::int64_t scale_pitch,
                                         __mmask16 before) {
    __m512 columns[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_ps(b_scale + 16 * v);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const float* rows = tile.a_scale[h] + offset;
#pragma GCC unroll 7
      for (int i = 0; i < half; ++i, rows += scale_pitch) {
        const __m512 row = _mm512_set1_ps(*rows);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          float* to = tile.sums + (h * half + i) * pair_columns + 16 * v;
          const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[h * half + i][v]), row);
          _mm512_store_ps(to,
                          _mm512_fmadd_ps(scaled, columns[v], _mm512_maskz_load_ps(before, to)));
        }
      }
    }
  }
};

template <class Unit, int half, int vectors>
void multiply(const PairProduct& product, const PairTile& where) {
  const Pitches pitch{product.pitch, 3 * product.pitch, 5 * product.pitch};
  const std::int64_t pair_step = product.pair_step;
  const std::byte* b = where.b;
  const float* b_scale = where.b_scale;
  const PairStep* step = product.steps;
  const PairStep* const end = step + product.count;
  __mmask16 before = where.fresh ? 0 : all;  // whether sums hold anything
  Tile<Unit, half, vectors> tile;
  while (step != end) {
    tile.clear();
    for (bool open = true; open; ++step) {
      const std::byte* first = where.a[0] + step->a;
      const std::byte* second = where.a[1] + step->a;
      for (std::int32_t pairs = step->pairs; pairs > 0; --pairs) {
        __m512i columns[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_si512(b + 64 * v);
        tile.template half_of<0>(0, first, pitch, columns);
        tile.template half_of<0>(half, second, pitch, columns);
        b += 64 * vectors;
        first += pair_step;
        second += pair_step;
      }
      open = !step->ends_block;
      if (open) continue;
      if constexpr (Unit::has_scales)
        tile.add_scaled(where, b_scale, step->a_scale, product.scale_pitch, before);
      else
        tile.add(where.sums, before);
      before = all;
    }
    if constexpr (Unit::has_scales) b_scale += pair_columns;
  }
}

template <class Unit, int... half>
struct Kernels {
  static constexpr PairKernel wide[] = {multiply<Unit, half, 2>...};
  static constexpr PairKernel narrow[] = {multiply<Unit, half, 1>...};
};

template <class Unit>
PairKernel kernel(std::int64_t half, bool wide) {
  using All = Kernels<Unit, 1, 2, 3, 4, 5, 6, 7>;
  return (wide ? All::wide : All::narrow)[half - 1];
}

// A row of sums; nothing beyond the columns is read or written.
struct ResultRow {
  __m512 x[2];
  __mmask16 mask[2];

  [[gnu::always_inline]] ResultRow(const float* sums, std::int64_t columns) {
    for (int v = 0; v < 2; ++v) {
      mask[v] = first(columns - 16 * v);
      x[v] = _mm512_maskz_load_ps(mask[v], sums + 16 * v);
    }
  }
  [[gnu::always_inline]] void store(float* to) const {
    for (int v = 0; v < 2; ++v) _mm512_mask_storeu_ps(to + 16 * v, mask[v], x[v]);
  }
  [[gnu::always_inline]] std::int64_t store_f16(std::uint16_t* to) const {
    std::int64_t flushed = 0;
    for (int v = 0; v < 2; ++v) {
      const __m256i y = _mm512_cvtps_ph(x[v], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      const __mmask16 nonzero =
          _mm512_test_epi32_mask(_mm512_castps_si512(x[v]), _mm512_set1_epi32(0x7fffffff));
      flushed += std::popcount(static_cast<unsigned>(
          _mm256_mask_testn_epi16_mask(nonzero, y, _mm256_set1_epi16(0x7fff))));
      _mm256_mask_storeu_epi16(to + 16 * v, mask[v], y);
    }
    return flushed;
  }
  template <class Unit>
  [[gnu::always_inline]] void store_bf16(std::uint16_t* to) const {
    const __mmask32 both = mask[0] | static_cast<__mmask32>(mask[1]) << 16;
    _mm512_mask_storeu_epi16(to, both, Unit::narrow(x[0], x[1]));
  }
};

template <class Unit>
std::int64_t store(const PairResult& result, std::int64_t half, const float* sums) {
  std::int64_t flushed = 0;
  for (int h = 0; h < 2; ++h)
    for (std::int64_t i = result.skip[h]; i < half; ++i) {
      const ResultRow row(sums + (h * half + i) * pair_columns, result.columns);
      const std::int64_t at = i * result.pitch;
      if (result.dtype == DType::f32)
        row.store(static_cast<float*>(result.y[h]) + at);
      else if (result.dtype == DType::f16)
        flushed += row.store_f16(static_cast<std::uint16_t*>(result.y[h]) + at);
      else
        row.store_bf16<Unit>(static_cast<std::uint16_t*>(result.y[h]) + at);
    }
  return flushed;
}

}  // namespace

PairKernel dfp16_kernel(std::int64_t half, bool wide) { return kernel<Dfp16>(half, wide); }
PairKernel bf16_kernel(std::int64_t half, bool wide) { return kernel<Bf16>(half, wide); }

std::int64_t dfp16_store(const PairResult& result, std::int64_t half, const float* sums) {
  return store<Dfp16>(result, half, sums);
}
std::int64_t bf16_store(const PairResult& result, std::int64_t half, const float* sums) {
  return store<Bf16>(result, half, sums);
}

}  // namespace narrowgauge::cpu::avx512
