// SPDX-License-Identifier: Apache-2.0
// Values in two bf16 (split.h), in vectors and on the tiles. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/row_formats.amx.h"
#include "kernels/cpu/split.h"
#include "kernels/cpu/tiles.amx.h"

namespace narrowgauge::cpu::amx {

// 32 values of a row.
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

// x less its rounded value; 0 where that is not finite.
[[gnu::always_inline]] inline __m512 remainder(__m512 x, __m256i rounded) {
  constexpr int nan_or_infinity = 0x99;
  const __m512 high = _mm512_castsi512_ps(
      _mm512_maskz_slli_epi32(all_lanes, _mm512_maskz_cvtepu16_epi32(all_lanes, rounded), 16));
  const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(high, nan_or_infinity));
  return _mm512_maskz_sub_ps(finite, x, high);
}

[[gnu::always_inline]] inline SplitRow split_row(const WideRow& row) {
  const __m512i high = to_bf16(row.low, row.high);
  return {high, to_bf16(remainder(row.low, _mm512_maskz_extracti64x4_epi64(0xff, high, 0)),
                        remainder(row.high, _mm512_maskz_extracti64x4_epi64(0xff, high, 1)))};
}

// The parts of A, both with rows `pitch` bytes apart. The order of the products lets each tile be
// loaded once.
struct SplitBlock {
  const std::byte *high, *low;
};
template <Reading reading>
[[gnu::always_inline]] inline void load_a(const std::byte* rows, std::int64_t pitch) {
  if constexpr (reading == Reading::streamed)
    _tile_stream_loadd(4, rows, pitch);
  else
    _tile_loadd(4, rows, pitch);
}
template <Reading reading>
[[gnu::always_inline]] inline void load_second_a(const std::byte* rows, std::int64_t pitch) {
  if constexpr (reading == Reading::streamed)
    _tile_stream_loadd(5, rows, pitch);
  else
    _tile_loadd(5, rows, pitch);
}
template <Reading reading>
[[gnu::always_inline]] inline void multiply_split(const SplitBlock& a, std::int64_t pitch,
                                                  const std::byte* b) {
  load_a<reading>(a.low, pitch);
  _tile_loadd(6, b, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  load_second_a<reading>(a.low + 16 * pitch, pitch);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  load_a<reading>(a.high, pitch);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  load_second_a<reading>(a.high + 16 * pitch, pitch);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(6, b + block_bytes, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(7, b + block_bytes + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
}

// As multiply_run, of split blocks; the work is done between the products.
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
