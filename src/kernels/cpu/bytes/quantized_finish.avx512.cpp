// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_finish.h"

#include <immintrin.h>

#include "kernels/cpu/bytes/quantized_finish_loops.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr __mmask16 all = 0xffff;

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
    return numbers(is_unsigned ? _mm512_maskz_cvtepu8_epi32(all, sixteen)
                               : _mm512_maskz_cvtepi8_epi32(all, sixteen));
  }
  static Floats numbers(Ints x) { return _mm512_maskz_cvtepi32_ps(all, x); }
  static Ints sub(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
  static Ints mul(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats max(Floats a, Floats b) { return _mm512_maskz_max_ps(all, a, b); }
  static Floats min(Floats a, Floats b) { return _mm512_maskz_min_ps(all, a, b); }
  static void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  template <bool is_unsigned>
  static void store_bytes(std::byte* to, Floats x, std::int32_t zero) {
    const __mmask16 ordered = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const Ints moved =
        _mm512_add_epi32(_mm512_maskz_cvtps_epi32(ordered, x), _mm512_set1_epi32(zero));
    const __m128i bytes = is_unsigned
                              ? _mm512_maskz_cvtusepi32_epi8(
                                    all, _mm512_maskz_max_epi32(all, moved, _mm512_setzero_si512()))
                              : _mm512_maskz_cvtsepi32_epi8(all, moved);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  }
};

}  // namespace

void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place) {
  finish_any<Sixteens>(finish, place);
}

}  // namespace narrowgauge::cpu::avx512
