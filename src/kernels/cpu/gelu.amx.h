// SPDX-License-Identifier: Apache-2.0
// Gelu and its slope for results that are rounded to bf16: few enough instructions to hide behind
// the tiles. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include <immintrin.h>

namespace narrowgauge::cpu::amx {

struct NormalLanes {
  __m512 below;    // P(X <= x), within 2^-15 of itself down to x = -13
  __m512 density;  // times sqrt(2 pi): e^(-x^2 / 2), as close
};

// 2^z for z <= 0: polynomial of degree 4, fitted to 2.6e-6 of 2^f for |f| <= 1/2.
[[gnu::always_inline]] inline __m512 power_of_two(__m512 z) {
  const __m512 to_integer = _mm512_set1_ps(0x1.8p23F);  // added and taken off again, it rounds
  const __m512 n = _mm512_sub_ps(_mm512_add_ps(z, to_integer), to_integer);
  const __m512 f = _mm512_sub_ps(z, n);
  __m512 p = _mm512_set1_ps(0x1.3997cap-7F);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.ca1442p-5F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.ec06dap-3F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.62e0dcp-1F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.ffffe8p-1F));
  return _mm512_scalef_ps(p, n);
}

// P(X <= -a) = e^(-a^2 / 2) g(a): t = 1 / (1 + 0.31 a) times a polynomial in t, fitted to 5e-6 of
// g(a) = erfcx(a / sqrt(2)) / 2 for a from 0 to 14. NaN stays.
[[gnu::always_inline]] inline NormalLanes normal_lanes(__m512 x) {
  constexpr float half_log2_e = 0.72134752044448170368F;
  const __m512 one = _mm512_set1_ps(1);
  const __m512 a = _mm512_min_ps(_mm512_set1_ps(20), _mm512_abs_ps(x));
  const __m512 density =
      power_of_two(_mm512_mul_ps(_mm512_mul_ps(a, a), _mm512_set1_ps(-half_log2_e)));
  const __m512 divisor = _mm512_fmadd_ps(a, _mm512_set1_ps(0.31F), one);
  const __m512 near = _mm512_rcp14_ps(divisor);
  const __m512 t = _mm512_fmadd_ps(near, _mm512_fnmadd_ps(divisor, near, one), near);
  __m512 p = _mm512_set1_ps(-0x1.2ed040p-4F);
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0x1.718fd6p-3F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0x1.01f74ap-6F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0x1.11438ap-3F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0x1.ed53e4p-4F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0x1.fb555ap-4F));
  const __m512 tail = _mm512_mul_ps(_mm512_mul_ps(p, t), density);
  const __mmask16 right = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
  return {_mm512_mask_sub_ps(tail, right, one, tail), density};
}

// x P(X <= x) for a normal X.
[[gnu::always_inline]] inline __m512 gelu(__m512 x) {
  return _mm512_mul_ps(x, normal_lanes(x).below);
}

// dy times the slope of gelu at x.
[[gnu::always_inline]] inline __m512 gelu_gradient(__m512 x, __m512 dy) {
  const NormalLanes normal = normal_lanes(x);
  const __m512 scaled = _mm512_mul_ps(normal.density, _mm512_set1_ps(0.39894228040143267794F));
  return _mm512_mul_ps(dy, _mm512_fmadd_ps(x, scaled, normal.below));
}

}  // namespace narrowgauge::cpu::amx

#endif
