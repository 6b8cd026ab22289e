// SPDX-License-Identifier: Apache-2.0
#include "units/cut_sums.h"

#include <immintrin.h>

#include <algorithm>

namespace narrowgauge::sim::avx512 {

namespace {

struct Sums {
  __m512 row[cut_rows];
};
struct WholeSums {
  __m512i row[cut_rows];
};

// The exponent of c, at least `least`; zero counts as nothing.
__m512 exponent_of(__m512 c, int least) {
  const __mmask16 zero = _mm512_cmp_ps_mask(c, _mm512_setzero_ps(), _CMP_EQ_OQ);
  const __m512 floor = _mm512_set1_ps(static_cast<float>(least));
  const __m512 exponent = _mm512_max_ps(_mm512_getexp_ps(c), floor);
  return _mm512_mask_mov_ps(exponent, zero, _mm512_set1_ps(-8192));
}

// Rounds x towards zero to f32; too large becomes infinite, where the conversion would stay finite.
__m256 toward_zero(__m512d x) {
  const __m256 cut = _mm512_cvt_roundpd_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m512d large = _mm512_set1_pd(0x1p128);
  const __mmask8 above = _mm512_cmp_pd_mask(_mm512_abs_pd(x), large, _CMP_GE_OQ);
  const __m256 infinity = _mm512_cvtpd_ps(_mm512_mul_pd(x, _mm512_set1_pd(0x1p400)));
  return _mm256_mask_mov_ps(cut, above, infinity);
}

// Rounds x to the nearest f16, ties to even, as f32. Rounds to odd first, which does not change a
// second rounding to fewer bits (Boldo and Melquiond, 2008).
__m256 nearest_f16(__m512d x) {
  const __m256 cut = _mm512_cvt_roundpd_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), x, _CMP_NEQ_UQ);
  const __m256i bits = _mm256_castps_si256(cut);
  const __m256i odd = _mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1));
  const __m128i half =
      _mm256_cvtps_ph(_mm256_castsi256_ps(odd), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm256_cvtph_ps(half);
}

__m256 rounded(const UnitModel& model, __m512d x) {
  if (model.rounding == ResultRounding::f16_nearest) return nearest_f16(x);
  const __m256 cut = toward_zero(x);
  if (model.rounding == ResultRounding::f32_cut) return cut;
  return _mm256_and_ps(cut, _mm256_castsi256_ps(_mm256_set1_epi32(~0x3ff)));
}

// sum * 2^exponent, rounded as the model's results; zero has no sign, as -0 + 0 has none.
__m256 rounded_sum(const UnitModel& model, __m512d sum, __m256 exponent) {
  const __m512d value = _mm512_scalef_pd(sum, _mm512_cvtps_pd(exponent));
  return _mm256_add_ps(rounded(model, value), _mm256_setzero_ps());
}

// (near + far + c) * 2^exponent, rounded; all three are whole numbers below 2^31.
__m512 finished(const UnitModel& model, __m512i near, __m512i far, __m512i c, __m512 exponent) {
  const auto sum = [](__m256i x, __m256i y, __m256i z) {
    return _mm512_add_pd(_mm512_add_pd(_mm512_cvtepi32_pd(x), _mm512_cvtepi32_pd(y)),
                         _mm512_cvtepi32_pd(z));
  };
  const __m512d low =
      sum(_mm512_castsi512_si256(near), _mm512_castsi512_si256(far), _mm512_castsi512_si256(c));
  const __m512d high = sum(_mm512_extracti64x4_epi64(near, 1), _mm512_extracti64x4_epi64(far, 1),
                           _mm512_extracti64x4_epi64(c, 1));
  const __m256 left = rounded_sum(model, low, _mm512_castps512_ps256(exponent));
  const __m256 right = rounded_sum(model, high, _mm512_extractf32x8_ps(exponent, 1));
  return _mm512_insertf32x8(_mm512_castps256_ps512(left), right, 1);
}

// Cuts and sums the products of k in [first, last) of one row, as whole multiples of 2^exponent.
// With at most 16 products, each below 4 * 2^25, no sum reaches 2^31.
void add_products(const CutBlock& block, std::int64_t first, std::int64_t last,
                  const Sums& exponent, WholeSums& sums) {
  for (std::int64_t k = first; k < last; ++k) {
    const __m512 b = _mm512_loadu_ps(block.column_significands + k * 16);
    const __m512 e = _mm512_loadu_ps(block.column_exponents + k * 16);
    for (std::size_t r = 0; r < cut_rows; ++r) {
      const std::int64_t at = static_cast<std::int64_t>(r) * block.depth + k;
      const __m512 product = _mm512_mul_ps(_mm512_set1_ps(block.row_significands[at]), b);
      const __m512 power = _mm512_add_ps(_mm512_set1_ps(block.row_exponents[at]), e);
      const __m512 scaled = _mm512_scalef_ps(product, _mm512_sub_ps(power, exponent.row[r]));
      sums.row[r] = _mm512_add_epi32(sums.row[r], _mm512_cvttps_epi32(scaled));
    }
  }
}

// The largest exponents among products k in [first, last) and c.
Sums largest_exponents(const CutBlock& block, std::int64_t first, std::int64_t last,
                       const Sums& c) {
  Sums largest;
  const __m512 floor = _mm512_set1_ps(static_cast<float>(block.model.floor));
  for (std::size_t r = 0; r < cut_rows; ++r)
    largest.row[r] = _mm512_max_ps(floor, exponent_of(c.row[r], block.model.c_floor));
  for (std::int64_t k = first; k < last; ++k) {
    const __m512 e = _mm512_loadu_ps(block.column_exponents + k * 16);
    for (std::size_t r = 0; r < cut_rows; ++r) {
      const std::int64_t at = static_cast<std::int64_t>(r) * block.depth + k;
      largest.row[r] =
          _mm512_max_ps(largest.row[r], _mm512_add_ps(_mm512_set1_ps(block.row_exponents[at]), e));
    }
  }
  return largest;
}

// One operation of the unit, for all rows.
void operation(const CutBlock& block, std::int64_t first, std::int64_t last, Sums& c) {
  Sums exponent = largest_exponents(block, first, last, c);
  const __m512 fraction = _mm512_set1_ps(static_cast<float>(block.model.fraction));
  for (__m512& e : exponent.row) e = _mm512_sub_ps(e, fraction);
  WholeSums near, far;
  for (__m512i* sums : {near.row, far.row}) std::fill_n(sums, cut_rows, _mm512_setzero_si512());
  const std::int64_t middle = std::min(first + 16, last);
  add_products(block, first, middle, exponent, near);
  add_products(block, middle, last, exponent, far);
  const __m512 infinity = _mm512_castsi512_ps(_mm512_set1_epi32(0x7f80'0000));
  for (std::size_t r = 0; r < cut_rows; ++r) {
    const __m512 minus = _mm512_sub_ps(_mm512_setzero_ps(), exponent.row[r]);
    const __m512i whole_c = _mm512_cvttps_epi32(_mm512_scalef_ps(c.row[r], minus));
    const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_abs_ps(c.row[r]), infinity, _CMP_LT_OQ);
    const __m512 sum = finished(block.model, near.row[r], far.row[r], whole_c, exponent.row[r]);
    c.row[r] = _mm512_mask_mov_ps(c.row[r], finite, sum);
  }
}

}  // namespace

void add_cut_sums(const CutBlock& block) {
  Sums c;
  for (std::size_t r = 0; r < cut_rows; ++r) c.row[r] = _mm512_loadu_ps(block.sums + r * 16);
  for (std::int64_t k = 0; k < block.depth; k += block.model.terms)
    operation(block, k, std::min(k + block.model.terms, block.depth), c);
  for (std::size_t r = 0; r < cut_rows; ++r) _mm512_storeu_ps(block.sums + r * 16, c.row[r]);
}

}  // namespace narrowgauge::sim::avx512
