// SPDX-License-Identifier: Apache-2.0
// Values split into two bf16 (split.h), in vectors and on the tiles. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/row_formats.amx.h"
#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/batch_inner/split.h"

namespace narrowgauge::cpu::amx {

// The 32 values of a row.
struct WideRow {
  __m512 low, high;
};

template <DType dtype>
[[gnu::always_inline]] inline WideRow load_wide(const std::byte* row) {
  if constexpr (dtype == DType::f16)
    return {from_f16(row), from_f16(row + 32)};
  else
    return {_mm512_loadu_ps(row), _mm512_loadu_ps(row + 64)};
}

struct SplitRow {
  __m512i high, low;  // of 32 bf16
};

// 16 values, each the sum of two bf16, which are the upper halves of 32-bit lanes.
struct SplitLanes {
  __m512i high, low;
};

// Rounds by adding half of the last place, unless that makes an infinity or another NaN.
[[gnu::always_inline]] inline __m512i round_up_half(__m512i bits, __mmask16 where) {
  return _mm512_mask_add_epi32(bits, where, bits, _mm512_set1_epi32(0x8000));
}

// The lower half of `low` is zero for f16, whose last bits it takes, and is rounded off for f32.
template <DType dtype>
[[gnu::always_inline]] inline SplitLanes split_lanes(__m512 x) {
  constexpr int nan_or_infinity = 0x99;
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(x, nan_or_infinity));
  __mmask16 roundable = finite;
  if constexpr (dtype == DType::f32)
    roundable = _mm512_cmplt_epu32_mask(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)),
                                        _mm512_set1_epi32(0x7f7f8000));
  const __m512i high = _mm512_and_si512(round_up_half(bits, roundable), upper);
  __m512i low = _mm512_castps_si512(_mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(high)));
  if constexpr (dtype == DType::f32) low = round_up_half(low, finite);
  return {high, low};
}

// Joins the upper halves of both; those of `first` go below those of `second`.
[[gnu::always_inline]] inline __m512i join_upper(__m512i first, __m512i second) {
  constexpr int choose = 0xca;  // a ? b : c
  return _mm512_ternarylogic_epi32(_mm512_set1_epi32(static_cast<int>(0xffff0000)), second,
                                   _mm512_srli_epi32(first, 16), choose);
}

// Splits a row into pairs of channels i and 16 + i. This takes half the work of the order of
// memory; if the contraction goes along the row, the other operand's rows have that order too.
template <DType dtype>
[[gnu::always_inline]] inline SplitRow split_row_crossed(const WideRow& row) {
  const SplitLanes first = split_lanes<dtype>(row.low), second = split_lanes<dtype>(row.high);
  return {join_upper(first.high, second.high), join_upper(first.low, second.low)};
}

// Splits a row in the order of memory.
template <DType dtype>
[[gnu::always_inline]] inline SplitRow split_row(const WideRow& row) {
  alignas(64) static constexpr std::uint16_t straight[32] = {
      0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
      1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const __m512i order = _mm512_load_si512(straight);
  const SplitRow crossed = split_row_crossed<dtype>(row);
  return {_mm512_permutexvar_epi16(order, crossed.high),
          _mm512_permutexvar_epi16(order, crossed.low)};
}

// Both parts of A, with rows `pitch` bytes apart. The products are ordered so that each tile is
// loaded once.
struct SplitBlock {
  const std::byte *high, *low;
};
template <Reading reading>
[[gnu::always_inline]] inline void multiply_split(const SplitBlock& a, std::int64_t pitch,
                                                  const std::byte* b) {
  load_first<reading>(a.low, pitch);
  _tile_loadd(6, b, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  load_second<reading>(a.low + 16 * pitch, pitch);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  load_first<reading>(a.high, pitch);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  load_second<reading>(a.high + 16 * pitch, pitch);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(6, b + block_bytes, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(7, b + block_bytes + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
}

// Multiplies split blocks as multiply_run does others; the work is done between the products.
template <Reading reading, class Work>
[[gnu::always_inline]] inline void multiply_split_run(const std::byte* a, std::int64_t a_step,
                                                      const std::byte* b, std::int64_t b_step,
                                                      std::int64_t steps, Work& work, int rows) {
  for (std::int64_t i = 0; i < steps; ++i, a += a_step, b += b_step) {
    work.step(rows);
    multiply_split<reading>({a, a + block_bytes}, 64, b);
  }
}

}  // namespace narrowgauge::cpu::amx

#endif
