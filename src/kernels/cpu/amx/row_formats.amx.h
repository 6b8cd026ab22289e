// SPDX-License-Identifier: Apache-2.0
// Rows of 32 values as batch-inner blocks hold them in bf16, f16 and f32: widens them to pairs of
// vectors and narrows them again, with one source for all three. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/bf16_rows.amx.h"
#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu::amx {

// Avoids unmasked forms, some of which GCC 12 reports as reads of an uninitialized value.
inline constexpr __mmask16 all_lanes = 0xffff;

// Narrows to f16; adds to `flushed` how many nonzero values became zero.
[[gnu::always_inline]] inline __m256i to_f16(__m512 x, std::int64_t& flushed) {
  const __m256i y =
      _mm512_maskz_cvtps_ph(all_lanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __mmask16 zero = _mm256_testn_epi16_mask(y, _mm256_set1_epi16(0x7fff));
  if (zero) [[unlikely]]
    flushed += __builtin_popcount(
        _mm512_mask_test_epi32_mask(zero, _mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  return y;
}
[[gnu::always_inline]] inline __m512i to_f16(__m512 low, __m512 high, std::int64_t& flushed) {
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(to_f16(low, flushed)),
                                  to_f16(high, flushed), 1);
}
[[gnu::always_inline]] inline __m512 from_f16(const std::byte* values) {
  return _mm512_maskz_cvtph_ps(all_lanes,
                               _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
}

template <bool stream>
[[gnu::always_inline]] inline void put_line(std::byte* to, __m512i line) {
  if constexpr (stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  else
    _mm512_store_si512(to, line);
}

// The 16-bit values where `kept` is positive or NaN, else 0.
template <std::int16_t infinity>
[[gnu::always_inline]] inline __m512i keep_positive(__m512i kept, __m512i values) {
  const __m512i size = _mm512_and_si512(kept, _mm512_set1_epi16(0x7fff));
  const __mmask32 taken = _mm512_cmpgt_epi16_mask(kept, _mm512_setzero_si512()) |
                          _mm512_cmpgt_epi16_mask(size, _mm512_set1_epi16(infinity));
  return _mm512_maskz_mov_epi16(taken, values);
}

// keep() with a pair keeps where its values, rounded to the format, are positive or NaN. Each
// format decides how pairs split the channels of a vector; sums of blocks come as 16 neighbours and
// the next 16. `flushed` counts values that become zero, in f16 only. Rows that are split are
// multiplied as split.h says, others as they are.
struct Bf16Rows {
  static constexpr bool is_split = false;
  static constexpr std::int64_t row_bytes = 64;
  using Stored = __m512i;
  static __m512 half(const std::byte* row, int i) { return widened_half(row + 32 * i); }
  static Stored narrow(__m512 low, __m512 high, std::int64_t&) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  }
  static Pair widen(const Stored& row) { return widened(row); }
  static Stored keep(const std::byte* kept, const Stored& row) {
    return keep_positive<0x7f80>(_mm512_load_si512(kept), row);
  }
  static Stored keep(const Pair& kept, const Stored& row) {
    return keep_positive<0x7f80>(joined_row(kept), row);
  }
  template <bool stream>
  static void put(std::byte* to, const Stored& row) {
    put_line<stream>(to, row);
  }
  static Pair load(const std::byte* row) { return load_row(row); }
  static void store(std::byte* row, const Pair& values, std::int64_t&) { store_row(row, values); }
  static Pair load_vector(const float* values) { return amx::load_vector(values); }
  static void store_vector(float* values, const Pair& pair) { amx::store_vector(values, pair); }
};

// Pairs in order: `even` holds the first 16 values, `odd` the next.
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
  static constexpr bool is_split = true;
  static constexpr std::int64_t row_bytes = 128;
  using Stored = Pair;
  [[gnu::always_inline]] static __m512 half(const std::byte* row, int i) {
    return _mm512_load_ps(row + 64 * i);
  }
  [[gnu::always_inline]] static Stored narrow(__m512 low, __m512 high, std::int64_t&) {
    return {low, high};
  }
  [[gnu::always_inline]] static Pair widen(const Stored& row) { return row; }
  [[gnu::always_inline]] static Stored keep(const std::byte* kept, const Stored& row) {
    return keep(load(kept), row);
  }
  [[gnu::always_inline]] static Stored keep(const Pair& kept, const Stored& row) {
    return {keep(kept.even, row.even), keep(kept.odd, row.odd)};
  }
  template <bool stream>
  [[gnu::always_inline]] static void put(std::byte* to, const Stored& row) {
    put_line<stream>(to, _mm512_castps_si512(row.even));
    put_line<stream>(to + 64, _mm512_castps_si512(row.odd));
  }
  [[gnu::always_inline]] static Pair load(const std::byte* row) {
    return {_mm512_load_ps(row), _mm512_load_ps(row + 64)};
  }
  [[gnu::always_inline]] static void store(std::byte* row, const Pair& values, std::int64_t&) {
    _mm512_store_ps(row, values.even);
    _mm512_store_ps(row + 64, values.odd);
  }

 private:
  [[gnu::always_inline]] static __m512 keep(__m512 kept, __m512 values) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(kept, _mm512_setzero_ps(), _CMP_NLE_UQ), values);
  }
};

struct F16Rows : OrderedRows {
  static constexpr bool is_split = true;
  static constexpr std::int64_t row_bytes = 64;
  using Stored = __m512i;
  [[gnu::always_inline]] static __m512 half(const std::byte* row, int i) {
    return from_f16(row + 32 * i);
  }
  [[gnu::always_inline]] static Stored narrow(__m512 low, __m512 high, std::int64_t& flushed) {
    return to_f16(low, high, flushed);
  }
  [[gnu::always_inline]] static Pair widen(const Stored& row) {
    return {_mm512_maskz_cvtph_ps(all_lanes, _mm512_maskz_extracti64x4_epi64(0xff, row, 0)),
            _mm512_maskz_cvtph_ps(all_lanes, _mm512_maskz_extracti64x4_epi64(0xff, row, 1))};
  }
  [[gnu::always_inline]] static Stored keep(const std::byte* kept, const Stored& row) {
    return keep_positive<0x7c00>(_mm512_load_si512(kept), row);
  }
  [[gnu::always_inline]] static Stored keep(const Pair& kept, const Stored& row) {
    std::int64_t counted_before = 0;
    return keep_positive<0x7c00>(to_f16(kept.even, kept.odd, counted_before), row);
  }
  template <bool stream>
  [[gnu::always_inline]] static void put(std::byte* to, const Stored& row) {
    put_line<stream>(to, row);
  }
  [[gnu::always_inline]] static Pair load(const std::byte* row) {
    return {from_f16(row), from_f16(row + 32)};
  }
  [[gnu::always_inline]] static void store(std::byte* row, const Pair& values,
                                           std::int64_t& flushed) {
    _mm512_store_si512(row, to_f16(values.even, values.odd, flushed));
  }
};

// Calls body.operator()<Rows>() with the rows of bf16, f16 or f32.
template <class Body>
auto with_rows(DType dtype, const Body& body) {
  if (dtype == DType::f32) return body.template operator()<F32Rows>();
  if (dtype == DType::f16) return body.template operator()<F16Rows>();
  return body.template operator()<Bf16Rows>();
}

}  // namespace narrowgauge::cpu::amx

#endif
