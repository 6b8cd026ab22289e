// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_finish.h"

#include <immintrin.h>

#include <cmath>

#include "base/machine/cpu.h"
#include "kernels/cpu/bytes/quantized_finish_loops.h"
#include "kernels/cpu/lanes/bf16_lanes.h"
#include "kernels/cpu/random/normal_distribution.h"

namespace narrowgauge::cpu {
namespace {

// Two vectors of AVX2.
struct Eights {
  struct Floats {
    __m256 low, high;
  };
  struct Ints {
    __m256i low, high;
  };
  using Flip = __m128i;

  static Flip flip(bool is_signed) {
    return _mm_set1_epi8(static_cast<char>(is_signed ? 0x80 : 0));
  }
  static Floats set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Ints set(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static Floats load(const float* from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static Ints load(const std::int32_t* from) {
    const auto* const vectors = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(vectors), _mm256_loadu_si256(vectors + 1)};
  }
  static Floats byte_zero(float zero) { return set(zero); }
  static Floats bytes_less(const std::byte* from, Flip flip, Floats zero) {
    const __m128i all =
        _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), flip);
    const __m128i behind = _mm_unpackhi_epi64(all, all);
    return sub(numbers({_mm256_cvtepu8_epi32(all), _mm256_cvtepu8_epi32(behind)}), zero);
  }
  static Floats numbers(Ints x) { return {_mm256_cvtepi32_ps(x.low), _mm256_cvtepi32_ps(x.high)}; }
  static Ints sub(Ints a, Ints b) {
    return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
  }
  static Ints add(Ints a, Ints b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  static Ints mul(Ints a, Ints b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
  }
  static Floats sub(Floats a, Floats b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static Floats fma(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Floats max(Floats a, Floats b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Floats min(Floats a, Floats b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  static Floats gelu(Floats x) {
    alignas(32) float values[16];
    store(values, x);
#pragma omp simd
    for (int i = 0; i < 16; ++i) values[i] *= normal_distribution(values[i]).below;
    return load(values);
  }
  static Floats mul(Floats a, Floats b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static void store_bf16(std::byte* to, Floats x) {
    auto* const vectors = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(vectors, narrowed_to_bf16(_mm256_castps_si256(x.low)));
    _mm_storeu_si128(vectors + 1, narrowed_to_bf16(_mm256_castps_si256(x.high)));
  }
  static void store(float* to, Floats x) {
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
  }
  static void store_bytes(std::byte* to, Floats x, std::int32_t zero, Flip flip) {
    const __m256i moved = _mm256_set1_epi32(zero);
    const __m256i pairs =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(_mm256_add_epi32(rounded(x.low), moved),
                                                    _mm256_add_epi32(rounded(x.high), moved)),
                                 0xd8);
    const __m128i low = _mm256_castsi256_si128(pairs), high = _mm256_extracti128_si256(pairs, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_xor_si128(_mm_packus_epi16(low, high), flip));
  }

 private:
  static __m256i rounded(__m256 x) {
    return _mm256_cvtps_epi32(_mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q)));
  }
};

void finish_eights(const QuantizedFinish& finish, const QuantizedPlace& place) {
  with_quantized_types(finish, place, [&]<QuantizedResult y, QuantizedBehind behind>() {
    finish_panels<Eights, y, behind>(finish, place);
  });
}

}  // namespace

bool saturation_bounds(const QuantizedFinish& finish, bool residual) {
  if (finish.y == DType::bf16) return std::isinf(finish.low) && std::isinf(finish.high);
  if (finish.y == DType::f32 || (residual && finish.residual == DType::f32)) return false;
  const int least = finish.y == DType::u8 ? 0 : -128;
  return finish.largest < 0x1p30F && finish.low <= static_cast<float>(least - finish.y_zero) &&
         finish.high >= static_cast<float>(least + 255 - finish.y_zero);
}

FinishSums quantized_finish() {
  return isa() >= Isa::avx512 ? avx512::finish_quantized : finish_eights;
}

}  // namespace narrowgauge::cpu
