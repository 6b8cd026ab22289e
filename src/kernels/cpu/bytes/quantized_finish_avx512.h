// SPDX-License-Identifier: Apache-2.0
// Sixteen values of a panel as vectors of AVX-512. Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

#include "kernels/cpu/bytes/quantized_finish_loops.h"
#include "kernels/cpu/core/bf16_avx512.h"
#include "kernels/cpu/core/gelu_avx512.h"

namespace narrowgauge::cpu::avx512 {

struct Sixteens {
  using Floats = __m512;
  using Ints = __m512i;

  static Floats set(float x) { return _mm512_set1_ps(x); }
  static Ints set(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static Ints load(const std::int32_t* from) { return _mm512_loadu_si512(from); }
  template <bool is_unsigned>
  static Floats bytes(const std::byte* from) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return numbers(is_unsigned ? _mm512_maskz_cvtepu8_epi32(0xffff, sixteen)
                               : _mm512_maskz_cvtepi8_epi32(0xffff, sixteen));
  }
  static Floats numbers(Ints x) { return _mm512_maskz_cvtepi32_ps(0xffff, x); }
  static Ints sub(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
  static Ints mul(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats max(Floats a, Floats b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Floats min(Floats a, Floats b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats gelu(Floats x) {
    Floats one[1] = {x};
    avx512::gelu(one);
    return one[0];
  }
  static void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  static void store_bf16(std::byte* to, Floats x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed_to_bf16(x));
  }
  template <bool is_unsigned>
  static void store_bytes(std::byte* to, Floats x, std::int32_t zero) {
    const __mmask16 ordered = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const Ints moved =
        _mm512_add_epi32(_mm512_maskz_cvtps_epi32(ordered, x), _mm512_set1_epi32(zero));
    const __m128i bytes =
        is_unsigned ? _mm512_maskz_cvtusepi32_epi8(
                          0xffff, _mm512_maskz_max_epi32(0xffff, moved, _mm512_setzero_si512()))
                    : _mm512_maskz_cvtsepi32_epi8(0xffff, moved);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  }
};

// Stores two sixteens as bytes that lie together. `plain`: none is NaN.
template <bool is_unsigned, bool plain>
[[gnu::always_inline]] inline void store_bytes(std::byte* to, __m512 low, __m512 high,
                                               __m512i zero) {
  const auto whole = [](__m512 x) {
    return _mm512_maskz_cvtps_epi32(
        plain ? __mmask16{0xffff} : _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
  };
  const __m512i moved = _mm512_adds_epi16(_mm512_packs_epi32(whole(low), whole(high)), zero);
  const __m512i bytes =
      is_unsigned ? _mm512_packus_epi16(moved, moved) : _mm512_packs_epi16(moved, moved);
  // Packing goes by lanes of 16 bytes.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, bytes)));
}

// Two panels whose results lie together. `saturates`: as in QuantizedFinish.
template <DType y, QuantizedResidual residual, bool saturates>
class QuantizedPair {
 public:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, residual>;
  static constexpr std::int64_t columns = 2 * quantized_panel;

  QuantizedPair(const QuantizedFinish& finish, std::int64_t column)
      : low_(finish, column),
        high_(finish, column + quantized_panel),
        zero_(_mm512_set1_epi16(static_cast<short>(finish.y_zero))) {}

  // In steps of y: what becomes of a row's sums less their zero points, with the residuals at r.
  [[gnu::always_inline]] void steps(__m512i low, __m512i high, const std::byte* r,
                                    __m512 (&both)[2]) const {
    if constexpr (residual == QuantizedResidual::gelu) {
      both[0] = low_.scaled(low);
      both[1] = high_.scaled(high);
      gelu(both);
      both[0] = low_.template after_gelu<saturates>(both[0]);
      both[1] = high_.template after_gelu<saturates>(both[1]);
    } else {
      const std::byte* const beside =
          Numbers::has_residual ? r + quantized_panel * Numbers::r_size : nullptr;
      both[0] = steps_of(low_, low, r);
      both[1] = steps_of(high_, high, beside);
    }
  }
  // Stores them.
  [[gnu::always_inline]] void finish(__m512i low, __m512i high, const std::byte* r,
                                     std::byte* to) const {
    __m512 both[2];
    steps(low, high, r, both);
    if constexpr (y == DType::bf16) {
      Sixteens::store_bf16(to, both[0]);
      Sixteens::store_bf16(to + 2 * quantized_panel, both[1]);
    } else if constexpr (y == DType::f32) {
      Sixteens::store(reinterpret_cast<float*>(to), both[0]);
      Sixteens::store(reinterpret_cast<float*>(to) + quantized_panel, both[1]);
    } else {
      store_bytes<y == DType::u8, saturates>(to, both[0], both[1], zero_);
    }
  }

 private:
  [[gnu::always_inline]] static __m512 steps_of(const Numbers& numbers, __m512i sums,
                                                const std::byte* r) {
    return saturates ? numbers.unbounded(sums, r) : numbers.steps(sums, r);
  }

  Numbers low_, high_;
  __m512i zero_;
};

}  // namespace narrowgauge::cpu::avx512

#endif
