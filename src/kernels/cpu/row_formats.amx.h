// SPDX-License-Identifier: Apache-2.0
// Rows of 32 values as batch-inner blocks hold them in bf16, f16 and f32: widened to pairs of
// vectors and narrowed again, one source for all three. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/pairs.amx.h"
#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu::amx {

// GCC 12 takes the unmasked forms of some instructions for reads of an uninitialized value.
inline constexpr __mmask16 all_lanes = 0xffff;

// Adds to `lost` how many were not zero and became it.
[[gnu::always_inline]] inline __m256i to_f16(__m512 x, std::int64_t& lost) {
  const __m256i y =
      _mm512_maskz_cvtps_ph(all_lanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __mmask16 zero = _mm256_testn_epi16_mask(y, _mm256_set1_epi16(0x7fff));
  if (zero) [[unlikely]]
    lost += __builtin_popcount(
        _mm512_mask_test_epi32_mask(zero, _mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  return y;
}
[[gnu::always_inline]] inline __m512i to_f16(__m512 low, __m512 high, std::int64_t& lost) {
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(to_f16(low, lost)),
                                  to_f16(high, lost), 1);
}
[[gnu::always_inline]] inline __m512 from_f16(const std::byte* values) {
  return _mm512_maskz_cvtph_ps(all_lanes,
                               _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
}

// How pairs take the channels of a vector apart is the format's own affair.
struct Bf16Rows {
  static constexpr std::int64_t row_bytes = 64;
  static Pair load(const std::byte* row) { return load_row(row); }
  static void store(std::byte* row, const Pair& values, std::int64_t&) { store_row(row, values); }
  static Pair load_vector(const float* values) { return amx::load_vector(values); }
  static void store_vector(float* values, const Pair& pair) { amx::store_vector(values, pair); }
};

// Neighbours lie beside each other: even holds the first 16.
struct OrderedRows {
  [[gnu::always_inline]] static Pair load_vector(const float* values) {
    return {_mm512_loadu_ps(values), _mm512_loadu_ps(values + 16)};
  }
  [[gnu::always_inline]] static void store_vector(float* values, const Pair& pair) {
    _mm512_storeu_ps(values, pair.even);
    _mm512_storeu_ps(values + 16, pair.odd);
  }
};

struct F32Rows : OrderedRows {
  static constexpr std::int64_t row_bytes = 128;
  [[gnu::always_inline]] static Pair load(const std::byte* row) {
    return {_mm512_load_ps(row), _mm512_load_ps(row + 64)};
  }
  [[gnu::always_inline]] static void store(std::byte* row, const Pair& values, std::int64_t&) {
    _mm512_store_ps(row, values.even);
    _mm512_store_ps(row + 64, values.odd);
  }
};

struct F16Rows : OrderedRows {
  static constexpr std::int64_t row_bytes = 64;
  [[gnu::always_inline]] static Pair load(const std::byte* row) {
    return {from_f16(row), from_f16(row + 32)};
  }
  [[gnu::always_inline]] static void store(std::byte* row, const Pair& values, std::int64_t& lost) {
    _mm512_store_si512(row, to_f16(values.even, values.odd, lost));
  }
};

// body.operator()<Rows>() for bf16, f16 or f32.
template <class Body>
auto with_rows(DType dtype, const Body& body) {
  if (dtype == DType::f32) return body.template operator()<F32Rows>();
  if (dtype == DType::f16) return body.template operator()<F16Rows>();
  return body.template operator()<Bf16Rows>();
}

}  // namespace narrowgauge::cpu::amx

#endif
