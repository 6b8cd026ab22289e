// SPDX-License-Identifier: Apache-2.0
// Block dynamic fixed point: extents, scales and integers of blocks, lane by lane. Only for
// *.avx512.cpp.
//
// A block is x = q / s with q = rint(s x) in int16 and
//   s = min(46300 / |x|, 32766 / max|x|), |x| the block's Euclidean norm,
// rounded down to a power of two for f16 and bf16, whose large values then stay exact. Two blocks
// are multiplied and added up in int32 without any rounding, then scaled and added up in f32.
//
// No int32 can overflow: rint moves each of at most 256 values by at most 1/2, so that
//   |q| <= s |x| (1 + e) + sqrt(256) / 2 <= 46300 (1 + e) + 8 < 46340,
// e < 1e-5 being what f32 loses in 256 squares, a root and a quotient. By Cauchy and Schwarz every
// partial sum of products, in any order, is at most |qa| |qb| < 46340^2 < 2^31. A block that takes
// part in sums over several subsets of its values is covered by the norm of the whole. Each q fits
// int16 by the other bound. (Das et al., Mixed Precision Training of CNNs using Integer Operations,
// ICLR 2018, train so with one exponent for a tensor.)
//
// A block with a value that is not finite gets the scale NaN: it makes NaN of every sum that it is
// part of. Its int32 may wrap; nobody sees it.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/pairs/pair_lanes_avx512.h"

namespace narrowgauge::cpu::avx512 {

// Scales of rows are multiplied by 2^-15 and those of columns by 2^15, so that their product with a
// sum of up to 2^31 stays in f32's range.
inline constexpr float row_factor = 0x1p-15F, column_factor = 0x1p15F;

[[gnu::always_inline]] inline __m512 load(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
[[gnu::always_inline]] inline __m512 load(const F16* from, __mmask16 mask) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
}
[[gnu::always_inline]] inline __m512 load(const Bf16* from, __mmask16 mask) {
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(all, _mm256_maskz_loadu_epi16(mask, from));
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, wide, 16));
}

// Calls visit with `data` as a pointer to elements of its dtype.
template <class Visit>
[[gnu::always_inline]] inline auto as_elements(DType dtype, const void* data, const Visit& visit) {
  if (dtype == DType::f16) return visit(static_cast<const F16*>(data));
  if (dtype == DType::bf16) return visit(static_cast<const Bf16*>(data));
  return visit(static_cast<const float*>(data));
}

// The largest magnitude and the sum of squares, lane by lane. NaN counts as larger than all.
struct Extent {
  __m512i largest = _mm512_setzero_si512();
  __m512 squares = _mm512_setzero_ps();

  [[gnu::always_inline]] void add(__m512 x) {
    const __m512i magnitude =
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    largest = _mm512_maskz_max_epu32(all, largest, magnitude);
    squares = _mm512_fmadd_ps(x, x, squares);
  }
};

// The power of two that scales values so that their squares stay within f32's range.
[[gnu::always_inline]] inline __m512 normalizer(__m512i largest) {
  const __m512i exponent = _mm512_and_si512(largest, _mm512_set1_epi32(0x7f800000));
  const __m512i bounded = _mm512_maskz_max_epu32(
      all, _mm512_maskz_min_epu32(all, exponent, _mm512_set1_epi32(240 << 23)),
      _mm512_set1_epi32(14 << 23));
  return _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(254 << 23), bounded));
}

// Whether the squares of these values stay far from the ends of f32's range. Zeros and values that
// are not finite need no sum of squares.
[[gnu::always_inline]] inline bool squares_are_exact(__m512i largest) {
  const __m512i least = _mm512_set1_epi32((127 - 40) << 23), most = _mm512_set1_epi32(167 << 23);
  const __mmask16 tiny =
      _mm512_test_epi32_mask(largest, largest) & _mm512_cmplt_epu32_mask(largest, least);
  const __mmask16 huge = _mm512_cmpgt_epu32_mask(largest, most) &
                         _mm512_cmplt_epu32_mask(largest, _mm512_set1_epi32(0x7f800000));
  return (tiny | huge) == 0;
}

struct Scales {
  __m512 forth, back;  // to the integers, and from them
};

[[gnu::always_inline]] inline __m512 norm_bound(__m512 squares) {
  return _mm512_div_ps(_mm512_set1_ps(46300.0F), _mm512_maskz_sqrt_ps(all, squares));
}

// s <= 2^110 keeps 2^-15 / s from being subnormal.
[[gnu::always_inline]] inline Scales scales_for(__m512i largest, __m512 by_norm, bool power_of_two,
                                                float factor) {
  const __m512 by_value = _mm512_div_ps(_mm512_set1_ps(32766.0F), _mm512_castsi512_ps(largest));
  __m512 s = _mm512_maskz_min_ps(all, _mm512_maskz_min_ps(all, by_norm, by_value),
                                 _mm512_set1_ps(0x1p110F));
  if (power_of_two)
    s = _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(s), _mm512_set1_epi32(0x7f800000)));
  const __mmask16 some = _mm512_test_epi32_mask(largest, largest);
  const __mmask16 finite = _mm512_cmplt_epu32_mask(largest, _mm512_set1_epi32(0x7f800000));
  const __m512 back = _mm512_maskz_div_ps(some, _mm512_set1_ps(factor), s);
  return {_mm512_maskz_mov_ps(some & finite, s),
          _mm512_mask_mov_ps(_mm512_set1_ps(__builtin_nanf("")), finite, back)};
}

[[gnu::always_inline]] inline __m512i quantised(__m512 x, __m512 scale) {
  return _mm512_maskz_cvtps_epi32(all, _mm512_mul_ps(x, scale));
}

}  // namespace narrowgauge::cpu::avx512

#endif
