// SPDX-License-Identifier: Apache-2.0
// Vectors of floats for loops that the compiler does not vectorize by itself. Float8 is AVX2;
// simd_avx512.h has a Float16 with the same members.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cpu/lanes/bf16_lanes.h"

namespace narrowgauge::cpu {

struct Float8 {
  static constexpr std::int64_t lanes = 8;
  __m256 value;

  static Float8 set(float x) { return {_mm256_set1_ps(x)}; }
  static Float8 load(const float* from) { return {_mm256_loadu_ps(from)}; }
  void store(float* to) const { _mm256_storeu_ps(to, value); }
  // Rounds to nearest even; subnormals stay, and a NaN is a quiet one.
  void store_bf16(std::uint16_t* to) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrowed_to_bf16(_mm256_castps_si256(value)));
  }
  // Narrow values in memory. A signaling NaN stays signaling.
  struct F16 {
    std::uint16_t bits;
  };
  struct Bf16 {
    std::uint16_t bits;
  };
  static Float8 load(const F16* from) { return {_mm256_cvtph_ps(load_eight(from))}; }
  static Float8 load(const Bf16* from) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_eight(from)), 16))};
  }
  static float one(float from) { return from; }
  static float one(F16 from) { return _cvtsh_ss(from.bits); }
  static float one(Bf16 from) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(from.bits) << 16);
  }
  // The first `count` lanes, the others 0.
  Float8 keep_first(std::int64_t count) const {
    return {_mm256_and_ps(value, _mm256_castsi256_ps(first(count)))};
  }
  Float8 fill_rest(std::int64_t count, float other) const {
    return {_mm256_blendv_ps(_mm256_set1_ps(other), value, _mm256_castsi256_ps(first(count)))};
  }
  // The first `count` lanes from memory, the others `fill`; count may be outside [0, lanes].
  static Float8 load_first(const float* from, std::int64_t count, float fill) {
    const __m256i mask = first(count);
    return {_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(from, mask),
                             _mm256_castsi256_ps(mask))};
  }
  void store_first(float* to, std::int64_t count) const {
    _mm256_maskstore_ps(to, first(count), value);
  }

  friend Float8 operator+(Float8 a, Float8 b) { return {_mm256_add_ps(a.value, b.value)}; }
  friend Float8 operator-(Float8 a, Float8 b) { return {_mm256_sub_ps(a.value, b.value)}; }
  friend Float8 operator*(Float8 a, Float8 b) { return {_mm256_mul_ps(a.value, b.value)}; }
  friend Float8 fma(Float8 a, Float8 b, Float8 c) {
    return {_mm256_fmadd_ps(a.value, b.value, c.value)};
  }
  // Gives b if either is NaN, as the instruction does.
  friend Float8 max(Float8 a, Float8 b) { return {_mm256_max_ps(a.value, b.value)}; }
  friend Float8 min(Float8 a, Float8 b) { return {_mm256_min_ps(a.value, b.value)}; }

  // x * 2^n, where the low bits of `shifted` hold n as in 1.5 * 2^23 + n. Uses two factors, since n
  // ranges from -150 to 128.
  static Float8 scale(Float8 x, Float8 shifted) {
    const __m256i n =
        _mm256_sub_epi32(_mm256_castps_si256(shifted.value), _mm256_set1_epi32(0x4B400000));
    const __m256i half = _mm256_srai_epi32(n, 1);
    return x * power(half) * power(_mm256_sub_epi32(n, half));
  }
  // The sum of 16 numbers in two parts: adds each number to that 8, then 4, 2, 1 places on.
  static float sum_of_sixteen(const Float8* parts) {
    const __m256 x = _mm256_add_ps(parts[0].value, parts[1].value);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
  }
  // The largest; a NaN may be ignored.
  static float largest_of_sixteen(const Float8* parts) {
    const __m256 x = _mm256_max_ps(parts[0].value, parts[1].value);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }
  static Float8 of_shorts(const std::uint16_t* from) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(all))};
  }
  // x where a < b, else 0.
  friend Float8 where_less(Float8 a, Float8 b, Float8 x) {
    return {_mm256_and_ps(x.value, _mm256_cmp_ps(a.value, b.value, _CMP_LT_OQ))};
  }
  // store_less() says where a < b, a byte per lane; where_bytes() is x if its byte is set, else 0.
  static void store_less(Float8 a, Float8 b, std::uint8_t* to) {
    const auto mask =
        static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.value, b.value, _CMP_LT_OQ)));
    const std::uint64_t bytes = _pdep_u64(mask, 0x0101010101010101);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&bytes), lanes, to);
  }
  static Float8 where_bytes(const std::uint8_t* bytes, Float8 x) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    const __m256i zero = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(eight), _mm256_setzero_si256());
    return {_mm256_andnot_ps(_mm256_castsi256_ps(zero), x.value)};
  }
  static void add_to(double* sum, Float8 x) {
    _mm256_storeu_pd(
        sum, _mm256_add_pd(_mm256_loadu_pd(sum), _mm256_cvtps_pd(_mm256_castps256_ps128(x.value))));
    _mm256_storeu_pd(sum + 4, _mm256_add_pd(_mm256_loadu_pd(sum + 4),
                                            _mm256_cvtps_pd(_mm256_extractf128_ps(x.value, 1))));
  }

 private:
  static __m128i load_eight(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  static __m256i first(std::int64_t count) {
    const auto most = static_cast<int>(std::clamp<std::int64_t>(count, 0, lanes));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(most), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Float8 power(__m256i exponent) {
    return {_mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23))};
  }
};

}  // namespace narrowgauge::cpu
