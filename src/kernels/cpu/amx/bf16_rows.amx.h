// SPDX-License-Identifier: Apache-2.0
// Widens rows of 32 bf16, as in batch-inner blocks, to f32 and narrows them again. Only for
// *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu::amx {

// 32 values of a row: those of even channels, and those of odd ones. Vectors per channel are split
// the same way, so that widening a row takes only a shift and a mask.
struct Pair {
  __m512 even, odd;
};

[[gnu::always_inline]] inline Pair widened(__m512i bits) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(bits, high))};
}

[[gnu::always_inline]] inline Pair load_row(const std::byte* row) {
  return widened(_mm512_load_si512(row));
}

// Widens 16 contiguous values, in their order.
[[gnu::always_inline]] inline __m512 widened_half(const std::byte* values) {
  const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(values));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

[[gnu::always_inline]] inline __m512i joined_row(const Pair& values) {
  alignas(64) static constexpr std::uint16_t joined[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto apart = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(values.odd, values.even));
  return _mm512_permutexvar_epi16(_mm512_load_si512(joined), apart);
}
[[gnu::always_inline]] inline void store_row(std::byte* row, const Pair& values) {
  _mm512_store_si512(row, joined_row(values));
}

[[gnu::always_inline]] inline Pair load_vector(const float* values) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512 low = _mm512_loadu_ps(values), high = _mm512_loadu_ps(values + 16);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return {_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)};
}

[[gnu::always_inline]] inline void store_vector(float* values, const Pair& pair) {
  const __m512 low = _mm512_unpacklo_ps(pair.even, pair.odd);   // 0 1 2 3, 8 9 10 11, ...
  const __m512 high = _mm512_unpackhi_ps(pair.even, pair.odd);  // 4 5 6 7, 12 13 14 15, ...
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  const auto join = [&](__m512i index) {
    return _mm512_castpd_ps(
        _mm512_permutex2var_pd(_mm512_castps_pd(low), index, _mm512_castps_pd(high)));
  };
  _mm512_storeu_ps(values, join(first));
  _mm512_storeu_ps(values + 16, join(second));
}

[[gnu::always_inline]] inline Pair zeros() { return {_mm512_setzero_ps(), _mm512_setzero_ps()}; }
[[gnu::always_inline]] inline Pair operator+(const Pair& a, const Pair& b) {
  return {_mm512_add_ps(a.even, b.even), _mm512_add_ps(a.odd, b.odd)};
}
[[gnu::always_inline]] inline Pair operator-(const Pair& a, const Pair& b) {
  return {_mm512_sub_ps(a.even, b.even), _mm512_sub_ps(a.odd, b.odd)};
}
[[gnu::always_inline]] inline Pair operator*(const Pair& a, const Pair& b) {
  return {_mm512_mul_ps(a.even, b.even), _mm512_mul_ps(a.odd, b.odd)};
}
[[gnu::always_inline]] inline Pair operator*(const Pair& a, float b) {
  return {_mm512_mul_ps(a.even, _mm512_set1_ps(b)), _mm512_mul_ps(a.odd, _mm512_set1_ps(b))};
}
[[gnu::always_inline]] inline Pair fma(const Pair& a, const Pair& b, const Pair& c) {
  return {_mm512_fmadd_ps(a.even, b.even, c.even), _mm512_fmadd_ps(a.odd, b.odd, c.odd)};
}

// x, with 0 for values that are not finite.
[[gnu::always_inline]] inline __m512 finite(__m512 x) {
  constexpr int not_finite = 0x99;  // both kinds of NaN, both infinities
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(~_mm512_fpclass_ps_mask(x, not_finite)), x);
}
[[gnu::always_inline]] inline Pair finite(const Pair& x) { return {finite(x.even), finite(x.odd)}; }

}  // namespace narrowgauge::cpu::amx

#endif
