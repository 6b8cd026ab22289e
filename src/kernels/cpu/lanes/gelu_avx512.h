// SPDX-License-Identifier: Apache-2.0
// Gelu and its slope for results that are rounded to bf16 or to bytes, in so few instructions that
// they hide behind the tiles of AMX. Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

namespace narrowgauge::cpu::avx512 {

// Computes several vectors at once, each instruction for all of them: a single vector would wait
// for itself and keep the tiles' instructions out.
template <int count>
struct NormalLanes {
  __m512 below[count];    // P(X <= x), within 2^-15 of itself down to x = -13
  __m512 density[count];  // times sqrt(2 pi): e^(-x^2 / 2), as close
};

#define NG_EACH _Pragma("GCC unroll 8") for (int i = 0; i < count; ++i)

// p[i] = ((c[0] x + c[1]) x + ...)
template <int count, int terms>
[[gnu::always_inline]] inline void polynomial(const __m512 (&x)[count], const float (&c)[terms],
                                              __m512 (&p)[count]) {
  NG_EACH p[i] = _mm512_set1_ps(c[0]);
#pragma GCC unroll 8
  for (int k = 1; k < terms; ++k) {
    const __m512 next = _mm512_set1_ps(c[k]);
    NG_EACH p[i] = _mm512_fmadd_ps(p[i], x[i], next);
  }
}

// 2^z for z <= 0: polynomial fitted to 2.6e-6 of 2^f for |f| <= 1/2.
template <int count>
[[gnu::always_inline]] inline void power_of_two(const __m512 (&z)[count], __m512 (&result)[count]) {
  constexpr float terms[] = {0x1.3997cap-7F, 0x1.ca1442p-5F, 0x1.ec06dap-3F, 0x1.62e0dcp-1F,
                             0x1.ffffe8p-1F};
  const __m512 to_integer = _mm512_set1_ps(0x1.8p23F);  // added and taken off again, it rounds
  __m512 n[count], f[count];
  NG_EACH n[i] = _mm512_sub_ps(_mm512_add_ps(z[i], to_integer), to_integer);
  NG_EACH f[i] = _mm512_sub_ps(z[i], n[i]);
  polynomial(f, terms, result);
  NG_EACH result[i] = _mm512_scalef_ps(result[i], n[i]);
}

// P(X <= -a) = e^(-a^2 / 2) g(a): t = 1 / (1 + 0.31 a) times a polynomial in t, fitted to 5e-6 of
// g(a) = erfcx(a / sqrt(2)) / 2 for a from 0 to 14. NaN stays.
template <int count>
[[gnu::always_inline]] inline NormalLanes<count> normal_lanes(const __m512 (&x)[count]) {
  constexpr float half_log2_e = 0.72134752044448170368F;
  constexpr float terms[] = {-0x1.2ed040p-4F, 0x1.718fd6p-3F, 0x1.01f74ap-6F,
                             0x1.11438ap-3F,  0x1.ed53e4p-4F, 0x1.fb555ap-4F};
  const __m512 one = _mm512_set1_ps(1), most = _mm512_set1_ps(20);
  NormalLanes<count> normal;
  __m512 a[count], t[count], tail[count], z[count];
  NG_EACH a[i] = _mm512_min_ps(most, _mm512_abs_ps(x[i]));
  NG_EACH z[i] = _mm512_mul_ps(_mm512_mul_ps(a[i], a[i]), _mm512_set1_ps(-half_log2_e));
  power_of_two(z, normal.density);
  NG_EACH a[i] = _mm512_fmadd_ps(a[i], _mm512_set1_ps(0.31F), one);
  NG_EACH z[i] = _mm512_rcp14_ps(a[i]);
  NG_EACH t[i] = _mm512_fmadd_ps(z[i], _mm512_fnmadd_ps(a[i], z[i], one), z[i]);
  polynomial(t, terms, tail);
  NG_EACH tail[i] = _mm512_mul_ps(_mm512_mul_ps(tail[i], t[i]), normal.density[i]);
  NG_EACH {
    const __mmask16 right = _mm512_cmp_ps_mask(x[i], _mm512_setzero_ps(), _CMP_GT_OQ);
    normal.below[i] = _mm512_mask_sub_ps(tail[i], right, one, tail[i]);
  }
  return normal;
}

// x P(X <= x) for a normal X.
template <int count>
[[gnu::always_inline]] inline void gelu(__m512 (&x)[count]) {
  const NormalLanes<count> normal = normal_lanes(x);
  NG_EACH x[i] = _mm512_mul_ps(x[i], normal.below[i]);
}

// dy times the slope of gelu at x, stored over dy.
template <int count>
[[gnu::always_inline]] inline void gelu_gradient(const __m512 (&x)[count], __m512 (&dy)[count]) {
  const NormalLanes<count> normal = normal_lanes(x);
  const __m512 factor = _mm512_set1_ps(0.39894228040143267794F);
  NG_EACH {
    const __m512 scaled = _mm512_mul_ps(normal.density[i], factor);
    dy[i] = _mm512_mul_ps(dy[i], _mm512_fmadd_ps(x[i], scaled, normal.below[i]));
  }
}

#undef NG_EACH

}  // namespace narrowgauge::cpu::avx512

#endif
