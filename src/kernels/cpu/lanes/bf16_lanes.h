// SPDX-License-Identifier: Apache-2.0
// Rounding to bf16 in vectors of AVX2, in integers, so that MXCSR does not affect subnormals. Not
// for *.avx512.cpp and *.amx.cpp: the linker keeps one version of an inline function.
#pragma once

#include <immintrin.h>

namespace narrowgauge::cpu {

// All ones where the bits of an f32 are NaN.
[[gnu::always_inline]] inline __m256i nan_lanes(__m256i x) {
  return _mm256_cmpgt_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0x7fffffff)),
                            _mm256_set1_epi32(0x7f800000));
}

// Eight of bf16 from the bits of f32, to nearest even; a NaN is a quiet one.
[[gnu::always_inline]] inline __m128i narrowed_to_bf16(__m256i x) {
  const __m256i high = _mm256_srli_epi32(x, 16);
  const __m256i half =
      _mm256_add_epi32(_mm256_and_si256(high, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(x, half), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i bits = _mm256_blendv_epi8(rounded, quiet, nan_lanes(x));
  return _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
}

}  // namespace narrowgauge::cpu
