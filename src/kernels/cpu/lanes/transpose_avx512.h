// SPDX-License-Identifier: Apache-2.0
// Transposes 16 x 16 values of 32 bits in registers. Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu::avx512 {

// Turns 16 rows of 16 int32, `stride` bytes apart, into columns of rows `pitch` bytes apart.
[[gnu::always_inline]] inline void transpose(const std::byte* from, std::int64_t stride,
                                             std::byte* to, std::int64_t pitch) {
  constexpr __mmask16 every = 0xffff;
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(from + i * stride);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_maskz_unpacklo_epi32(every, a[i], a[i + 1]);
    b[i + 1] = _mm512_maskz_unpackhi_epi32(every, a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      a[i + 2 * j] = _mm512_maskz_unpacklo_epi64(0xff, b[i + j], b[i + j + 2]);
      a[i + 2 * j + 1] = _mm512_maskz_unpackhi_epi64(0xff, b[i + j], b[i + j + 2]);
    }
    // a[4 g + c] holds columns c, c + 4, c + 8 and c + 12 of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i low0 = _mm512_maskz_shuffle_i32x4(every, a[c], a[4 + c], 0x44);
    const __m512i low1 = _mm512_maskz_shuffle_i32x4(every, a[8 + c], a[12 + c], 0x44);
    const __m512i high0 = _mm512_maskz_shuffle_i32x4(every, a[c], a[4 + c], 0xee);
    const __m512i high1 = _mm512_maskz_shuffle_i32x4(every, a[8 + c], a[12 + c], 0xee);
    _mm512_storeu_si512(to + c * pitch, _mm512_maskz_shuffle_i32x4(every, low0, low1, 0x88));
    _mm512_storeu_si512(to + (c + 4) * pitch, _mm512_maskz_shuffle_i32x4(every, low0, low1, 0xdd));
    _mm512_storeu_si512(to + (c + 8) * pitch,
                        _mm512_maskz_shuffle_i32x4(every, high0, high1, 0x88));
    _mm512_storeu_si512(to + (c + 12) * pitch,
                        _mm512_maskz_shuffle_i32x4(every, high0, high1, 0xdd));
  }
}

}  // namespace narrowgauge::cpu::avx512

#endif
