// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/convert/convert_rows.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int lanes = 16;
constexpr __mmask16 every = 0xffff;
constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

__mmask16 mask_for(std::int64_t left) {
  return static_cast<__mmask16>(left >= lanes ? 0xffff : (1u << left) - 1);
}

__m256i load_halves(const std::uint16_t* in, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(mask, in);
}

std::int64_t count_flushed(__mmask16 mask, __m512i before, __m256i after) {
  const __mmask16 nonzero =
      _mm512_mask_test_epi32_mask(mask, before, _mm512_set1_epi32(0x7fffffff));
  return __builtin_popcount(
      _mm256_mask_testn_epi16_mask(nonzero, after, _mm256_set1_epi16(0x7fff)));
}

__mmask16 nan_mask(__m512i x) {
  return _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff)),
                                 _mm512_set1_epi32(0x7f800000));
}

// Widens 16 values, or those in the mask.
void widen_f16_part(const std::uint16_t* in, float* out, __mmask16 mask) {
  _mm512_mask_storeu_ps(out, mask, _mm512_cvtph_ps(load_halves(in, mask)));
}

void widen_bf16_part(const std::uint16_t* in, float* out, __mmask16 mask) {
  const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(in, mask)), 16);
  const __m512i bits =
      _mm512_mask_or_epi32(wide, nan_mask(wide), wide, _mm512_set1_epi32(0x00400000));
  _mm512_mask_storeu_epi32(out, mask, bits);
}

void widen_f16(const std::uint16_t* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) widen_f16_part(in + i, out + i, every);
  if (i < count) widen_f16_part(in + i, out + i, mask_for(count - i));
}

// Moves the halves of a vector into the upper 16 bits of two vectors.
void widen_bf16(const std::uint16_t* in, float* out, std::int64_t count) {
  constexpr __mmask32 upper = 0xAAAAAAAA;
  alignas(64) static constexpr std::uint16_t places[32] = {0, 0,  0, 1,  0, 2,  0, 3,  0, 4, 0,
                                                           5, 0,  6, 0,  7, 0,  8, 0,  9, 0, 10,
                                                           0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  const __m512i low = _mm512_load_si512(places);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    __m512i x = _mm512_loadu_si512(in + i);
    const __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, _mm512_set1_epi16(0x7f80));
    x = _mm512_mask_mov_epi16(x, nan, _mm512_or_si512(x, _mm512_set1_epi16(0x40)));
    _mm512_storeu_si512(out + i, _mm512_maskz_permutexvar_epi16(upper, low, x));
    _mm512_storeu_si512(out + i + lanes, _mm512_maskz_permutexvar_epi16(upper, high, x));
  }
  for (; i < count; i += lanes) widen_bf16_part(in + i, out + i, mask_for(count - i));
}

// VCVTPS2PH keeps f16 subnormals under flush-to-zero; f32 subnormals lie below half of the least
// f16 and become zero either way.
std::int64_t narrow_f16_part(const float* in, std::uint16_t* out, __mmask16 mask) {
  const __m512 x = _mm512_maskz_loadu_ps(mask, in);
  const __m256i y = _mm512_cvtps_ph(x, nearest);
  _mm256_mask_storeu_epi16(out, mask, y);
  return count_flushed(mask, _mm512_castps_si512(x), y);
}

std::int64_t narrow_f16(const float* in, std::uint16_t* out, std::int64_t count) {
  std::int64_t flushed = 0, i = 0;
  for (; i + lanes <= count; i += lanes) flushed += narrow_f16_part(in + i, out + i, every);
  if (i < count) flushed += narrow_f16_part(in + i, out + i, mask_for(count - i));
  return flushed;
}

// Rounds to the upper 16 bits a value that is not NaN, in integers, since VCVTNEPS2BF16 makes
// subnormals zero.
__m512i rounded(__m512i x) {
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(x, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

std::int64_t narrow_bf16_part(const float* in, std::uint16_t* out, __mmask16 mask) {
  const __m512i x = _mm512_maskz_loadu_epi32(mask, in);
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(0x40));
  const __m512i bits = _mm512_mask_mov_epi32(_mm512_srli_epi32(rounded(x), 16), nan_mask(x), quiet);
  const __m256i y = _mm512_cvtepi32_epi16(bits);
  _mm256_mask_storeu_epi16(out, mask, y);
  return count_flushed(mask, x, y);
}

// The lanes that hold NaN, or a value other than zero that rounds to zero.
__mmask16 is_special(__m512i x) {
  const __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff));
  const __m512i less_one = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(1));
  return _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000)) |
         _mm512_cmplt_epu32_mask(less_one, _mm512_set1_epi32(0x8000));
}

std::int64_t narrow_bf16(const float* in, std::uint16_t* out, std::int64_t count) {
  alignas(64) static constexpr std::uint16_t upper[32] = {
      1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i places = _mm512_load_si512(upper);
  std::int64_t flushed = 0, i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const __m512i low = _mm512_loadu_si512(in + i), high = _mm512_loadu_si512(in + i + lanes);
    if (is_special(low) | is_special(high)) {
      flushed += narrow_bf16_part(in + i, out + i, every);
      flushed += narrow_bf16_part(in + i + lanes, out + i + lanes, every);
      continue;
    }
    _mm512_storeu_si512(out + i, _mm512_permutex2var_epi16(rounded(low), places, rounded(high)));
  }
  for (; i < count; i += lanes) flushed += narrow_bf16_part(in + i, out + i, mask_for(count - i));
  return flushed;
}

}  // namespace

const RowConversions row_conversions{widen_f16, widen_bf16, narrow_f16, narrow_bf16};

}  // namespace narrowgauge::cpu::avx512
