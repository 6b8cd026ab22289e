// SPDX-License-Identifier: Apache-2.0
// Pairs of 16-bit values in vector lanes. Only for *.avx512.cpp.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/lanes/transpose_avx512.h"
#include "kernels/cpu/pairs/pair_unit.h"

namespace narrowgauge::cpu::avx512 {

// Avoids unmasked forms, some of which GCC 12 reports as reads of an uninitialized value.
inline constexpr __mmask16 all = 0xffff;

[[gnu::always_inline]] inline __mmask16 first(std::int64_t count) {
  if (count >= 16) return all;
  return static_cast<__mmask16>(count <= 0 ? 0 : (1U << count) - 1);
}

[[gnu::always_inline]] inline __m512i as_pairs(__m512i even, __m512i odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_maskz_slli_epi32(all, odd, 16));
}

constexpr std::int64_t packed_row_bytes(std::int64_t depth) { return (depth + 31) / 32 * 64; }

// Turns packed rows of `depth` values into columns of B; overwrites room for 32 of them. Writes
// whole vectors of 16 pairs: the last ones beyond `depth` are zero.
inline void rows_to_columns(std::byte* rows, std::int64_t count, std::int64_t depth,
                            const ColumnPairs& to) {
  const std::int64_t row_bytes = packed_row_bytes(depth), lanes = to.wide ? 32 : 16;
  std::memset(rows + count * row_bytes, 0, static_cast<std::size_t>((lanes - count) * row_bytes));
  for (std::int64_t byte = 0; byte < row_bytes; byte += 64)
    for (std::int64_t c = 0; c < lanes; c += 16)
      transpose(rows + c * row_bytes + byte, row_bytes, to.q + byte * lanes + c * 4, lanes * 4);
}

}  // namespace narrowgauge::cpu::avx512

#endif
