// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/convert_rows.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int lanes = 16;
constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

__mmask16 mask_for(std::int64_t left) {
  return static_cast<__mmask16>(left >= lanes ? 0xffff : (1u << left) - 1);
}

__m256i load_halves(const std::uint16_t* in, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(mask, in);
}

std::int64_t count_lost(__mmask16 mask, __m512i before, __m256i after) {
  const __mmask16 nonzero =
      _mm512_mask_test_epi32_mask(mask, before, _mm512_set1_epi32(0x7fffffff));
  return __builtin_popcount(
      _mm256_mask_testn_epi16_mask(nonzero, after, _mm256_set1_epi16(0x7fff)));
}

__mmask16 nan_mask(__m512i x) {
  return _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff)),
                                 _mm512_set1_epi32(0x7f800000));
}

void widen_f16(const std::uint16_t* in, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __mmask16 mask = mask_for(count - i);
    _mm512_mask_storeu_ps(out + i, mask, _mm512_cvtph_ps(load_halves(in + i, mask)));
  }
}

void widen_bf16(const std::uint16_t* in, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __mmask16 mask = mask_for(count - i);
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(in + i, mask)), 16);
    const __m512i bits =
        _mm512_mask_or_epi32(wide, nan_mask(wide), wide, _mm512_set1_epi32(0x00400000));
    _mm512_mask_storeu_epi32(out + i, mask, bits);
  }
}

// VCVTPS2PH keeps f16 subnormals under flush-to-zero; f32 subnormals lie below half of the least
// f16 and become zero either way.
std::int64_t narrow_f16(const float* in, std::uint16_t* out, std::int64_t count) {
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __mmask16 mask = mask_for(count - i);
    const __m512 x = _mm512_maskz_loadu_ps(mask, in + i);
    const __m256i y = _mm512_cvtps_ph(x, nearest);
    lost += count_lost(mask, _mm512_castps_si512(x), y);
    _mm256_mask_storeu_epi16(out + i, mask, y);
  }
  return lost;
}

// Integer arithmetic, since VCVTNEPS2BF16 makes subnormals zero.
std::int64_t narrow_bf16(const float* in, std::uint16_t* out, std::int64_t count) {
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __mmask16 mask = mask_for(count - i);
    const __m512i x = _mm512_maskz_loadu_epi32(mask, in + i);
    const __m512i high = _mm512_srli_epi32(x, 16);
    const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(x, half), 16);
    const __m512i bits = _mm512_mask_or_epi32(rounded, nan_mask(x), high, _mm512_set1_epi32(0x40));
    const __m256i y = _mm512_cvtepi32_epi16(bits);
    lost += count_lost(mask, x, y);
    _mm256_mask_storeu_epi16(out + i, mask, y);
  }
  return lost;
}

}  // namespace

const RowConversions row_conversions{widen_f16, widen_bf16, narrow_f16, narrow_bf16};

}  // namespace narrowgauge::cpu::avx512
