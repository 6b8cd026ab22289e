// SPDX-License-Identifier: Apache-2.0
// Float16: the vector of simd.h in AVX-512. Only for *.avx512.cpp.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/lanes/bf16_avx512.h"

namespace narrowgauge::cpu::avx512 {

struct Float16 {
  static constexpr std::int64_t lanes = 16;
  __m512 value;

  static Float16 set(float x) { return {_mm512_set1_ps(x)}; }
  static Float16 load(const float* from) { return {_mm512_loadu_ps(from)}; }
  void store(float* to) const { _mm512_storeu_ps(to, value); }
  void store_bf16(std::uint16_t* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed_to_bf16(value));
  }
  struct F16 {
    std::uint16_t bits;
  };
  struct Bf16 {
    std::uint16_t bits;
  };
  static Float16 load(const F16* from) { return {_mm512_maskz_cvtph_ps(all, load_sixteen(from))}; }
  static Float16 load(const Bf16* from) {
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(all, load_sixteen(from));
    return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, wide, 16))};
  }
  static float one(float from) { return from; }
  static float one(F16 from) { return _cvtsh_ss(from.bits); }
  static float one(Bf16 from) {
    const std::uint32_t bits = static_cast<std::uint32_t>(from.bits) << 16;
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  }
  Float16 keep_first(std::int64_t count) const {
    return {_mm512_maskz_mov_ps(first(count), value)};
  }
  Float16 fill_rest(std::int64_t count, float other) const {
    return {_mm512_mask_mov_ps(_mm512_set1_ps(other), first(count), value)};
  }
  static Float16 load_first(const float* from, std::int64_t count, float fill) {
    return {_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first(count), from)};
  }
  void store_first(float* to, std::int64_t count) const {
    _mm512_mask_storeu_ps(to, first(count), value);
  }

  friend Float16 operator+(Float16 a, Float16 b) { return {_mm512_add_ps(a.value, b.value)}; }
  friend Float16 operator-(Float16 a, Float16 b) { return {_mm512_sub_ps(a.value, b.value)}; }
  friend Float16 operator*(Float16 a, Float16 b) { return {_mm512_mul_ps(a.value, b.value)}; }
  friend Float16 fma(Float16 a, Float16 b, Float16 c) {
    return {_mm512_fmadd_ps(a.value, b.value, c.value)};
  }
  friend Float16 max(Float16 a, Float16 b) { return {_mm512_maskz_max_ps(all, a.value, b.value)}; }
  friend Float16 min(Float16 a, Float16 b) { return {_mm512_maskz_min_ps(all, a.value, b.value)}; }

  static Float16 scale(Float16 x, Float16 shifted) {
    const __m512 n = _mm512_sub_ps(shifted.value, _mm512_set1_ps(0x1.8p23F));
    return {_mm512_maskz_scalef_ps(all, x.value, n)};
  }
  static float sum_of_sixteen(const Float16* parts) {
    return sum_of_eight(_mm256_add_ps(half<0>(parts->value), half<1>(parts->value)));
  }
  static float largest_of_sixteen(const Float16* parts) {
    return largest_of_eight(_mm256_max_ps(half<0>(parts->value), half<1>(parts->value)));
  }
  static Float16 of_shorts(const std::uint16_t* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return {_mm512_maskz_cvtepi32_ps(all, _mm512_maskz_cvtepu16_epi32(all, bits))};
  }
  friend Float16 where_less(Float16 a, Float16 b, Float16 x) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.value, b.value, _CMP_LT_OQ), x.value)};
  }
  static void store_less(Float16 a, Float16 b, std::uint8_t* to) {
    const __mmask16 less = _mm512_cmp_ps_mask(a.value, b.value, _CMP_LT_OQ);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_maskz_set1_epi8(less, 1));
  }
  static Float16 where_bytes(const std::uint8_t* bytes, Float16 x) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    return {_mm512_maskz_mov_ps(_mm_test_epi8_mask(sixteen, sixteen), x.value)};
  }
  static void add_to(double* sum, Float16 x) {
    const __m256 low = _mm512_castps512_ps256(x.value);
    const __m256 high = _mm512_maskz_extractf32x8_ps(0xff, x.value, 1);
    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), _mm512_maskz_cvtps_pd(0xff, low)));
    _mm512_storeu_pd(sum + 8,
                     _mm512_add_pd(_mm512_loadu_pd(sum + 8), _mm512_maskz_cvtps_pd(0xff, high)));
  }

 private:
  // Avoids unmasked forms, which GCC 12 reports as reads of an uninitialized value.
  static constexpr __mmask16 all = 0xffff;
  static __m256i load_sixteen(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static __mmask16 first(std::int64_t count) {
    if (count <= 0) return 0;
    return count >= lanes ? all : static_cast<__mmask16>((1U << count) - 1);
  }
  template <int index>
  static __m256 half(__m512 x) {
    return _mm512_maskz_extractf32x8_ps(0xff, x, index);
  }
  static float sum_of_eight(__m256 x) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
  }
  static float largest_of_eight(__m256 x) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }
};

}  // namespace narrowgauge::cpu::avx512

#endif
