// SPDX-License-Identifier: Apache-2.0
// Stores a row of a square of sums (Int8Finish). Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

#include "kernels/cpu/int8/int8_blocks.h"

namespace narrowgauge::cpu::avx512 {

class Int8Finisher {
 public:
  explicit Int8Finisher(const Int8Finish& finish)
      : finish_(finish),
        low_(_mm512_loadu_si512(finish.column_terms)),
        high_(_mm512_loadu_si512(finish.column_terms + 16)) {
    if (!finish.row_scales) return;
    low_scales_ = _mm512_loadu_ps(finish.column_scales);
    high_scales_ = _mm512_loadu_ps(finish.column_scales + 16);
    zero_ = _mm512_set1_epi16(static_cast<short>(finish.zero));
  }

  // Whether whole i32 rows are written, without products of terms: then whole() replaces finish().
  static bool has_whole_rows(const Int8Finish& finish) {
    return !finish.row_scales && !finish.row_factors[0] && !finish.row_factors[1] &&
           finish.piece_count == 1 && ~finish.pieces[0].mask == 0;
  }
  [[gnu::always_inline]] void whole(const std::int32_t* sums, std::int32_t row_term,
                                    std::byte* y) const {
    const __m512i term = _mm512_set1_epi32(row_term);
    const __m512i low = _mm512_add_epi32(_mm512_add_epi32(term, low_), _mm512_load_si512(sums));
    const __m512i high =
        _mm512_add_epi32(_mm512_add_epi32(term, high_), _mm512_load_si512(sums + 16));
    if (finish_.stream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y), low);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y + 64), high);
    } else {
      _mm512_storeu_si512(y, low);
      _mm512_storeu_si512(y + 64, high);
    }
  }

  // Finishes row `row` of the strip, which must be within y.
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

  // Too large sums would become int32's least number: right from below, so only the top is cut.
  [[gnu::always_inline]] static __m512i rounded(__m512i sum, __m512 scale) {
    constexpr __mmask16 all = 0xffff;
    const __m512 x = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(all, sum), scale);
    return _mm512_maskz_cvtps_epi32(all, _mm512_maskz_min_ps(all, _mm512_set1_ps(0x1p30F), x));
  }

  [[gnu::always_inline]] void store_bytes(__m512i low, __m512i high, std::int64_t row,
                                          std::byte* y) const {
    const __m512 scale = _mm512_set1_ps(finish_.row_scales[row]);
    const __m512i words =
        _mm512_adds_epi16(_mm512_packs_epi32(rounded(low, _mm512_mul_ps(scale, low_scales_)),
                                             rounded(high, _mm512_mul_ps(scale, high_scales_))),
                          zero_);
    const __m512i packed =
        finish_.is_signed ? _mm512_packs_epi16(words, words) : _mm512_packus_epi16(words, words);
    // In each lane the first four bytes are lower columns, the next four upper ones.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i bytes =
        _mm512_castsi512_si256(_mm512_maskz_permutexvar_epi32(0xff, order, packed));
    for (std::int64_t i = 0; i < finish_.piece_count; ++i)
      _mm256_mask_storeu_epi8(y + finish_.pieces[i].offset, finish_.pieces[i].mask, bytes);
  }

  Int8Finish finish_;
  __m512i low_, high_;
  __m512 low_scales_{}, high_scales_{};
  __m512i zero_{};
};

}  // namespace narrowgauge::cpu::avx512

#endif
