// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/dfp16_tile.h"

#include <immintrin.h>

#include <bit>

namespace narrowgauge::cpu::avx512 {
namespace {

// In assembly: GCC would keep a pointer for each row, and spill. It needs AVX512_VNNI.
[[gnu::always_inline]] inline void multiply_add(__m512i& sum, __m512i a, __m512i b) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

struct Pitches {
  std::int64_t one, three, five;
};

template <int row>
[[gnu::always_inline]] inline __m512i broadcast(const std::byte* a, const Pitches& pitch) {
  __m512i x;
  if constexpr (row == 0) __asm__("vpbroadcastd (%1), %0" : "=v"(x) : "r"(a) : "memory");
#define NG_ROW(number, step, scale) \
  if constexpr (row == number)      \
    __asm__("vpbroadcastd (%1,%2," #scale "), %0" : "=v"(x) : "r"(a), "r"(pitch.step) : "memory");
  NG_ROW(1, one, 1)
  NG_ROW(2, one, 2)
  NG_ROW(3, three, 1)
  NG_ROW(4, one, 4)
  NG_ROW(5, five, 1)
  NG_ROW(6, three, 2)
#undef NG_ROW
  return x;
}

template <int half, int vectors>
struct Tile {
  __m512i sums[2 * half][vectors];

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
      for (int v = 0; v < vectors; ++v) multiply_add(sums[first + row][v], x, b[v]);
      half_of<row + 1>(first, a, pitch, b);
    }
  }

  [[gnu::always_inline]] void add_scaled(const Dfp16Tile& tile, const float* b_scale,
                                         std::int64_t offset, std::int64_t scale_pitch) {
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
          float* to = tile.sums + (h * half + i) * dfp16_columns + 16 * v;
          const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[h * half + i][v]), row);
          _mm512_store_ps(to, _mm512_fmadd_ps(scaled, columns[v], _mm512_load_ps(to)));
        }
      }
    }
  }
};

template <int half, int vectors>
void multiply(const Dfp16Product& product, const Dfp16Tile& where) {
  const Pitches pitch{product.pitch, 3 * product.pitch, 5 * product.pitch};
  const std::int64_t pair_step = product.pair_step;
  const std::byte* b = where.b;
  const float* b_scale = where.b_scale;
  const Dfp16Step* step = product.steps;
  const Dfp16Step* const end = step + product.count;
  Tile<half, vectors> tile;
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
      if (!open) tile.add_scaled(where, b_scale, step->a_scale, product.scale_pitch);
    }
    b_scale += dfp16_columns;
  }
}

template <int... half>
struct Kernels {
  static constexpr Dfp16Kernel wide[] = {multiply<half, 2>...};
  static constexpr Dfp16Kernel narrow[] = {multiply<half, 1>...};
};
using AllKernels = Kernels<1, 2, 3, 4, 5, 6, 7>;

__mmask16 first(std::int64_t count) {
  if (count <= 0) return 0;
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1U << count) - 1);
}

std::int64_t store_f16(const float* sums, std::uint16_t* to, std::int64_t columns) {
  std::int64_t lost = 0;
  for (std::int64_t c = 0; c < columns; c += 16) {
    const __mmask16 mask = first(columns - c);
    const __m512 x = _mm512_load_ps(sums + c);
    const __m256i y = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __mmask16 nonzero =
        _mm512_mask_test_epi32_mask(mask, _mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    lost += std::popcount(
        static_cast<unsigned>(_mm256_mask_testn_epi16_mask(nonzero, y, _mm256_set1_epi16(0x7fff))));
    _mm256_mask_storeu_epi16(to + c, mask, y);
  }
  return lost;
}

void store_f32(const float* sums, float* to, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += 16)
    _mm512_mask_storeu_ps(to + c, first(columns - c), _mm512_load_ps(sums + c));
}

}  // namespace

Dfp16Kernel dfp16_kernel(std::int64_t half, bool wide) {
  return (wide ? AllKernels::wide : AllKernels::narrow)[half - 1];
}

std::int64_t dfp16_store(const Dfp16Result& result, std::int64_t half, const float* sums) {
  std::int64_t lost = 0;
  for (int h = 0; h < 2; ++h)
    for (std::int64_t i = result.skip[h]; i < half; ++i) {
      const float* from = sums + (h * half + i) * dfp16_columns;
      const std::int64_t at = i * result.pitch;
      if (result.dtype == DType::f16)
        lost += store_f16(from, static_cast<std::uint16_t*>(result.y[h]) + at, result.columns);
      else
        store_f32(from, static_cast<float*>(result.y[h]) + at, result.columns);
    }
  return lost;
}

}  // namespace narrowgauge::cpu::avx512
