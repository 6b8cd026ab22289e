// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/random/random_fill.h"

#include <immintrin.h>

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int rounds = 10;

inline __m512i all(std::uint64_t bits) {
  return _mm512_set1_epi64(static_cast<long long>(bits & 0xffffffff));
}

// Avoids unmasked forms, which GCC 12 reports as reads of an uninitialized value.
constexpr __mmask8 every = 0xff;
inline __m512i multiply(__m512i a, __m512i b) { return _mm512_maskz_mul_epu32(every, a, b); }
inline __m512i upper(__m512i x) { return _mm512_maskz_srli_epi64(every, x, 32); }

// Eight blocks, each number in the low half of 64 bits; the upper halves may hold anything.
struct Eight {
  __m512i x[4];
};

[[gnu::always_inline]] inline void mix(Eight& eight, __m512i k0, __m512i k1) {
  constexpr int exclusive_or = 0x96;
  __m512i(&x)[4] = eight.x;
  const __m512i a = multiply(x[0], all(0xD2511F53)), b = multiply(x[2], all(0xCD9E8D57));
  x[0] = _mm512_ternarylogic_epi64(upper(b), x[1], k0, exclusive_or);
  x[1] = b;
  x[2] = _mm512_ternarylogic_epi64(upper(a), x[3], k1, exclusive_or);
  x[3] = a;
}

// out[4 * b + i] = x[i] of block b.
[[gnu::always_inline]] inline void store(const Eight& eight, std::uint32_t* out) {
  constexpr __mmask16 odd = 0xAAAA;
  const __m512i(&x)[4] = eight.x;
  const __m512i x01 = _mm512_mask_blend_epi32(odd, x[0], _mm512_maskz_slli_epi64(every, x[1], 32));
  const __m512i x23 = _mm512_mask_blend_epi32(odd, x[2], _mm512_maskz_slli_epi64(every, x[3], 32));
  const __m512i low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
  const __m512i high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi64(x01, low, x23));
  _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi64(x01, high, x23));
}

}  // namespace

void philox_sixteen(const RandomStream& stream, std::uint64_t first, std::uint32_t* out) {
  const __m512i blocks = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(first)),
                                          _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  const __m512i further = _mm512_add_epi64(blocks, _mm512_set1_epi64(8));
  const __m512i step = all(stream.step()), step_high = all(stream.step() >> 32);
  Eight a{{blocks, upper(blocks), step, step_high}};
  Eight b{{further, upper(further), step, step_high}};
  __m512i k0 = all(stream.key()), k1 = all(stream.key() >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < rounds; ++round) {
    mix(a, k0, k1);
    mix(b, k0, k1);
    k0 = _mm512_add_epi64(k0, all(0x9E3779B9));
    k1 = _mm512_add_epi64(k1, all(0xBB67AE85));
  }
  store(a, out);
  store(b, out + 32);
}

}  // namespace narrowgauge::cpu::avx512
