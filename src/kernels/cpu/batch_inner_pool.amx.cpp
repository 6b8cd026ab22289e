// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner_pool.h"

#include <immintrin.h>

namespace narrowgauge::cpu::amx {
namespace {

constexpr std::int64_t lanes = 32;
constexpr std::uint16_t minus_infinity = 0xff80;

struct Floats {
  __m512 low, high;
};

inline __m512 widen(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline Floats widen(__m512i bits) {
  return {widen(_mm512_castsi512_si256(bits)), widen(_mm512_extracti64x4_epi64(bits, 1))};
}

// Where v is larger than the best, or the first NaN.
inline __mmask16 takes(__m512 v, __m512 best) {
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(best, best, _CMP_ORD_Q), v, best, _CMP_NLE_UQ);
}

}  // namespace

void max_pool_pixel(const std::uint16_t* x, const PoolTap* taps, int tap_count, std::int64_t count,
                    std::uint16_t* y, std::uint8_t* taken) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    __m512i best = _mm512_set1_epi16(static_cast<short>(minus_infinity));
    __m256i best_tap = _mm256_setzero_si256();
    if (tap_count > 0) {
      best = _mm512_loadu_si512(x + taps[0].offset + i);
      best_tap = _mm256_set1_epi8(static_cast<char>(taps[0].tap));
    }
    for (int k = 1; k < tap_count; ++k) {
      const __m512i value = _mm512_loadu_si512(x + taps[k].offset + i);
      const Floats v = widen(value), b = widen(best);
      const __mmask32 take = _mm512_kunpackw(takes(v.high, b.high), takes(v.low, b.low));
      best = _mm512_mask_mov_epi16(best, take, value);
      best_tap =
          _mm256_mask_mov_epi8(best_tap, take, _mm256_set1_epi8(static_cast<char>(taps[k].tap)));
    }
    _mm512_storeu_si512(y + i, best);
    if (taken) _mm256_storeu_si256(reinterpret_cast<__m256i*>(taken + i), best_tap);
  }
}

void max_pool_gradient_pixel(const std::uint16_t* dy, const std::uint8_t* taken,
                             const PoolTap* taps, int tap_count, std::int64_t count,
                             std::uint16_t* dx) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    __m512 low = _mm512_setzero_ps(), high = _mm512_setzero_ps();
    for (int k = 0; k < tap_count; ++k) {
      const std::int64_t at = taps[k].offset + i;
      const __m256i chosen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(taken + at));
      const __mmask32 own =
          _mm256_cmpeq_epi8_mask(chosen, _mm256_set1_epi8(static_cast<char>(taps[k].tap)));
      const Floats slope = widen(_mm512_loadu_si512(dy + at));
      low = _mm512_mask_add_ps(low, static_cast<__mmask16>(own), low, slope.low);
      high = _mm512_mask_add_ps(high, static_cast<__mmask16>(own >> 16), high, slope.high);
    }
    _mm512_storeu_si512(dx + i, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }
}

}  // namespace narrowgauge::cpu::amx
