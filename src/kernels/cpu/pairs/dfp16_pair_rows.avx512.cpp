// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/pairs/dfp16_scales_avx512.h"
#include "kernels/cpu/pairs/pair_rows.h"

namespace narrowgauge::cpu::avx512 {
namespace {

template <class T>
struct SourceRow {
  const T *first, *second;
  std::int64_t stride, width, pixels;
  __mmask16 mask[2];

  SourceRow(const PairRow& row, const T* elements)
      : first(elements),
        second(static_cast<const T*>(row.second)),
        stride(row.stride),
        width(row.width),
        pixels(row.pixels),
        mask{avx512::first(row.channels < row.width ? row.channels : row.width),
             avx512::first(row.channels - row.width)} {}
};

template <class T>
void add_image(const SourceRow<T>& row, const T* image, Extent (&extent)[2]) {
  for (std::int64_t i = 0; i < row.pixels; ++i, image += row.stride) {
    extent[0].add(load(image, row.mask[0]));
    if (row.mask[1]) extent[1].add(load(image + row.width, row.mask[1]));
  }
}

template <class T>
void measure(const SourceRow<T>& row, Dfp16Extent* extent) {
  Extent found[2];
  add_image(row, row.first, found);
  if (row.second) add_image(row, row.second, found);
  for (int v = 0; v < 2; ++v) {
    _mm512_store_si512(extent->largest + 16 * v, found[v].largest);
    _mm512_store_ps(extent->squares + 16 * v, found[v].squares);
  }
}

template <bool both, class T>
void pack(const SourceRow<T>& row, const PairScales& scales, int v, std::byte* q,
          std::int64_t step) {
  const __m512 scale = _mm512_load_ps(scales.forth + 16 * v);
  const __mmask16 mask = row.mask[v];
  const T* first = row.first + v * row.width;
  const T* second = both ? row.second + v * row.width : nullptr;
  for (std::int64_t i = 0; i < row.pixels; ++i, q += step, first += row.stride) {
    const __m512i even = quantised(load(first, mask), scale);
    __m512i odd = _mm512_setzero_si512();
    if constexpr (both) {
      odd = quantised(load(second, mask), scale);
      second += row.stride;
    }
    _mm512_storeu_si512(q, as_pairs(even, odd));
  }
}

template <class T>
void pack_row(const SourceRow<T>& row, const PairScales& scales, const PairRowTarget& to) {
  for (int v = 0; v < 2; ++v) {
    if (!to.q[v]) continue;
    if (row.second)
      pack<true>(row, scales, v, to.q[v], to.pair_bytes);
    else
      pack<false>(row, scales, v, to.q[v], to.pair_bytes);
  }
}

}  // namespace

void dfp16_pair_extent(const PairRow& row, Dfp16Extent* extent) {
  as_elements(row.dtype, row.first,
              [&](const auto* first) { measure(SourceRow(row, first), extent); });
}

void dfp16_add_extent(Dfp16Extent* sum, const Dfp16Extent& extent) {
  for (int v = 0; v < 32; v += 16) {
    _mm512_store_si512(sum->largest + v,
                       _mm512_maskz_max_epu32(all, _mm512_load_si512(sum->largest + v),
                                              _mm512_load_si512(extent.largest + v)));
    _mm512_store_ps(sum->squares + v, _mm512_add_ps(_mm512_load_ps(sum->squares + v),
                                                    _mm512_load_ps(extent.squares + v)));
  }
}

void dfp16_keep_larger(Dfp16Extent* extent, const Dfp16Extent& other) {
  for (int v = 0; v < 32; v += 16) {
    _mm512_store_si512(extent->largest + v,
                       _mm512_maskz_max_epu32(all, _mm512_load_si512(extent->largest + v),
                                              _mm512_load_si512(other.largest + v)));
    _mm512_store_ps(extent->squares + v,
                    _mm512_maskz_max_ps(all, _mm512_load_ps(extent->squares + v),
                                        _mm512_load_ps(other.squares + v)));
  }
}

void dfp16_scales(const Dfp16Extent& extent, std::int64_t values, DType dtype, bool rows,
                  PairScales* scales) {
  for (int v = 0; v < 32; v += 16) {
    const __m512i largest = _mm512_load_si512(extent.largest + v);
    __m512 bound = norm_bound(_mm512_load_ps(extent.squares + v));
    // If f32 cannot hold the squares, the bound is |x| <= max|x| sqrt(values).
    if (!squares_are_exact(largest))
      bound = _mm512_div_ps(norm_bound(_mm512_set1_ps(static_cast<float>(values))),
                            _mm512_castsi512_ps(largest));
    const Scales made =
        scales_for(largest, bound, dtype != DType::f32, rows ? row_factor : column_factor);
    _mm512_store_ps(scales->forth + v, made.forth);
    _mm512_store_ps(scales->back + v, made.back);
  }
}

void dfp16_pack_row(const PairRow& row, const PairScales& scales, const PairRowTarget& to) {
  as_elements(row.dtype, row.first,
              [&](const auto* first) { pack_row(SourceRow(row, first), scales, to); });
}

void pair_add(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; i += 16)
    _mm512_storeu_ps(to + i, _mm512_add_ps(_mm512_loadu_ps(to + i), _mm512_loadu_ps(from + i)));
}

}  // namespace narrowgauge::cpu::avx512
