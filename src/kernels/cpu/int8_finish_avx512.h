// SPDX-License-Identifier: Apache-2.0
// A row of a square of sums on its way to memory (Int8Finish). Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

#include "kernels/cpu/int8_blocks.h"

namespace narrowgauge::cpu::avx512 {

class Int8Finisher {
 public:
  explicit Int8Finisher(const Int8Finish& finish)
      : finish_(finish),
        low_(_mm512_loadu_si512(finish.column_terms)),
        high_(_mm512_loadu_si512(finish.column_terms + 16)) {
    if (!finish.row_scales) return;
    const auto zero = static_cast<float>(finish.zero);
    least_ = _mm512_set1_ps((finish.is_signed ? -128.0F : 0.0F) - zero);
    most_ = _mm512_set1_ps((finish.is_signed ? 127.0F : 255.0F) - zero);
  }

  // Row `row` of the strip, which is in y.
  [[gnu::always_inline]] void finish(const std::int32_t* sums, std::int64_t row) const {
    const __m512i term = _mm512_set1_epi32(finish_.row_terms[row]);
    __m512i low = _mm512_add_epi32(_mm512_load_si512(sums), _mm512_add_epi32(term, low_));
    __m512i high = _mm512_add_epi32(_mm512_load_si512(sums + 16), _mm512_add_epi32(term, high_));
    for (int i = 0; i < 2; ++i)
      if (finish_.row_factors[i]) {
        low = corrected(low, i, row, 0);
        high = corrected(high, i, row, 16);
      }
    std::byte* const y = finish_.y + row * finish_.pitch;
    if (finish_.row_scales)
      store_bytes(low, high, row, y);
    else
      store_sums(low, high, y);
  }

 private:
  [[gnu::always_inline]] __m512i corrected(__m512i sum, int i, std::int64_t row, int at) const {
    const __m512i factor = _mm512_set1_epi32(finish_.row_factors[i][row]);
    return _mm512_sub_epi32(
        sum, _mm512_mullo_epi32(factor, _mm512_loadu_si512(finish_.column_factors[i] + at)));
  }

  [[gnu::always_inline]] void store_sums(__m512i low, __m512i high, std::byte* y) const {
    if (finish_.stream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y), low);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y + 64), high);
      return;
    }
    for (std::int64_t i = 0; i < finish_.piece_count; ++i) {
      const Int8Finish::Piece& piece = finish_.pieces[i];
      _mm512_mask_storeu_epi32(y + piece.offset, static_cast<__mmask16>(piece.mask), low);
      _mm512_mask_storeu_epi32(y + piece.offset + 64, static_cast<__mmask16>(piece.mask >> 16),
                               high);
    }
  }

  [[gnu::always_inline]] __m128i quantised(__m512i sum, __m512 row, int at) const {
    constexpr __mmask16 all = 0xffff;
    const __m512 scale = _mm512_mul_ps(row, _mm512_loadu_ps(finish_.column_scales + at));
    const __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(all, sum), scale);
    const __mmask16 numbers = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const __m512 kept =
        _mm512_maskz_min_ps(numbers, _mm512_maskz_max_ps(numbers, x, least_), most_);
    // What is not a number is 0 here, which is within the bounds.
    const __m512i y =
        _mm512_add_epi32(_mm512_maskz_cvtps_epi32(all, kept), _mm512_set1_epi32(finish_.zero));
    return _mm512_maskz_cvtepi32_epi8(all, y);
  }

  [[gnu::always_inline]] void store_bytes(__m512i low, __m512i high, std::int64_t row,
                                          std::byte* y) const {
    const __m512 scale = _mm512_set1_ps(finish_.row_scales[row]);
    const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(quantised(low, scale, 0)),
                                                  quantised(high, scale, 16), 1);
    for (std::int64_t i = 0; i < finish_.piece_count; ++i)
      _mm256_mask_storeu_epi8(y + finish_.pieces[i].offset, finish_.pieces[i].mask, bytes);
  }

  Int8Finish finish_;
  __m512i low_, high_;
  __m512 least_{}, most_{};
};

}  // namespace narrowgauge::cpu::avx512

#endif
