// SPDX-License-Identifier: Apache-2.0
// Rounding to bf16 on CPUs without AVX512_BF16, in integers, so that subnormals stay. Only for
// *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

namespace narrowgauge::cpu::avx512 {

// The upper halves are bf16, to nearest even; a NaN is a quiet one.
[[gnu::always_inline]] inline __m512i rounded_to_bf16(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
  return _mm512_mask_or_epi32(nearest, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits,
                              _mm512_set1_epi32(0x400000));
}

// Sixteen of bf16.
[[gnu::always_inline]] inline __m256i narrowed_to_bf16(__m512 x) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_to_bf16(x), 16));
}

}  // namespace narrowgauge::cpu::avx512

#endif
