// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/batch_inner_pool.h"

#include "kernels/cpu/amx/row_formats.amx.h"

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

// The lanes where v is larger than the best, or the first NaN.
inline __mmask16 takes(__m512 v, __m512 best) {
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(best, best, _CMP_ORD_Q), v, best, _CMP_NLE_UQ);
}

// bf16 values are moved whole, since narrowing would make subnormals zero.
void max_of_bf16(const std::uint16_t* x, const PoolTaps& taps, std::int64_t count, std::uint16_t* y,
                 std::uint8_t* taken) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    __m512i best = _mm512_set1_epi16(static_cast<short>(minus_infinity));
    __m256i best_tap = _mm256_setzero_si256();
    if (taps.count > 0) {
      best = _mm512_loadu_si512(x + taps.list[0].offset + i);
      best_tap = _mm256_set1_epi8(static_cast<char>(taps.list[0].tap));
    }
    for (int k = 1; k < taps.count; ++k) {
      const __m512i value = _mm512_loadu_si512(x + taps.list[k].offset + i);
      const Floats v = widen(value), b = widen(best);
      const __mmask32 take = _mm512_kunpackw(takes(v.high, b.high), takes(v.low, b.low));
      best = _mm512_mask_mov_epi16(best, take, value);
      best_tap = _mm256_mask_mov_epi8(best_tap, take,
                                      _mm256_set1_epi8(static_cast<char>(taps.list[k].tap)));
    }
    _mm512_storeu_si512(y + i, best);
    if (taken) _mm256_storeu_si256(reinterpret_cast<__m256i*>(taken + i), best_tap);
  }
}

template <class Format>
void max_of(const std::byte* x, const PoolTaps& taps, std::int64_t count, std::byte* y,
            std::uint8_t* taken) {
  constexpr std::int64_t size = Format::row_bytes / lanes;
  std::int64_t flushed = 0;  // nothing is: these are values of x
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __m512 least = _mm512_set1_ps(-__builtin_inff());
    Pair best{least, least};
    __m256i best_tap = _mm256_setzero_si256();
    for (int k = 0; k < taps.count; ++k) {
      const Pair v = Format::load(x + (taps.list[k].offset + i) * size);
      const bool first = k == 0;
      const __mmask16 low = first ? all_lanes : takes(v.even, best.even);
      const __mmask16 high = first ? all_lanes : takes(v.odd, best.odd);
      best = {_mm512_mask_mov_ps(best.even, low, v.even),
              _mm512_mask_mov_ps(best.odd, high, v.odd)};
      best_tap = _mm256_mask_mov_epi8(best_tap, _mm512_kunpackw(high, low),
                                      _mm256_set1_epi8(static_cast<char>(taps.list[k].tap)));
    }
    Format::store(y + i * size, best, flushed);
    if (taken) _mm256_storeu_si256(reinterpret_cast<__m256i*>(taken + i), best_tap);
  }
}

// Adds the slopes of the places that took this element, in the order of taps.
template <class Format>
std::int64_t slopes_of(const std::byte* dy, const std::uint8_t* taken, const PoolTaps& taps,
                       std::int64_t count, std::byte* dx) {
  constexpr std::int64_t size = Format::row_bytes / lanes;
  std::int64_t flushed = 0;
  for (std::int64_t i = 0; i < count; i += lanes) {
    Pair sum = zeros();
    for (int k = 0; k < taps.count; ++k) {
      const std::int64_t at = taps.list[k].offset + i;
      const __m256i chosen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(taken + at));
      const __mmask32 own =
          _mm256_cmpeq_epi8_mask(chosen, _mm256_set1_epi8(static_cast<char>(taps.list[k].tap)));
      const std::byte* row = dy + at * size;
      sum.even =
          _mm512_mask_add_ps(sum.even, static_cast<__mmask16>(own), sum.even, Format::half(row, 0));
      sum.odd = _mm512_mask_add_ps(sum.odd, static_cast<__mmask16>(own >> 16), sum.odd,
                                   Format::half(row, 1));
    }
    Format::template put<false>(dx + i * size, Format::narrow(sum.even, sum.odd, flushed));
  }
  return flushed;
}

}  // namespace

void max_pool_pixel(DType dtype, const void* x, const PoolTaps& taps, std::int64_t count, void* y,
                    std::uint8_t* taken) {
  if (dtype == DType::bf16)
    return max_of_bf16(static_cast<const std::uint16_t*>(x), taps, count,
                       static_cast<std::uint16_t*>(y), taken);
  const auto* from = static_cast<const std::byte*>(x);
  auto* const to = static_cast<std::byte*>(y);
  dtype == DType::f16 ? max_of<F16Rows>(from, taps, count, to, taken)
                      : max_of<F32Rows>(from, taps, count, to, taken);
}

std::int64_t max_pool_gradient_pixel(DType dtype, const void* dy, const std::uint8_t* taken,
                                     const PoolTaps& taps, std::int64_t count, void* dx) {
  return with_rows(dtype, [&]<class Format>() {
    return slopes_of<Format>(static_cast<const std::byte*>(dy), taken, taps, count,
                             static_cast<std::byte*>(dx));
  });
}

}  // namespace narrowgauge::cpu::amx
