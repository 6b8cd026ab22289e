// SPDX-License-Identifier: Apache-2.0
// The tile registers of AMX as the bf16 kernels use them: two tiles of A, two of B and four sums
// make a block of 32 x 32 from 32 x 32 products. Only for *.amx.cpp.
//
// A block of A is 2 KB: 32 rows of 32 bf16, the contraction along the row. So is a block of B:
// columns 0-15, then columns 16-31, each as 16 rows of 16 pairs of neighbours in the contraction.
// Instructions: Intel SDM volume 1, chapter 18.
#pragma once

#ifdef __AMX_BF16__

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/core/batch_inner.h"

namespace narrowgauge::cpu::amx {

inline constexpr std::int64_t block_rows = 32;
inline constexpr std::int64_t sums_in_block = 1024;  // f32

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14]{};
  std::uint16_t bytes_per_row[16]{64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16]{16, 16, 16, 16, 16, 16, 16, 16};
};

// Configures eight full tiles for the calling thread and releases them at the end.
class TileScope {
 public:
  TileScope() {
    static constexpr TileConfiguration configuration;
    _tile_loadconfig(&configuration);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

// Needed between ordinary stores and tile loads: GCC 12 does not know that the latter read memory.
inline void before_tile_loads() { asm volatile("" ::: "memory"); }

inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Loads sums [32][32] of f32 or i32.
template <class Sum>
void load_sums(const Sum* sums) {
  constexpr int row_bytes = 128;
  before_tile_loads();
  _tile_loadd(0, sums, row_bytes);
  _tile_loadd(1, sums + 16, row_bytes);
  _tile_loadd(2, sums + 512, row_bytes);
  _tile_loadd(3, sums + 528, row_bytes);
}
template <class Sum>
void store_sums(Sum* sums) {
  constexpr int row_bytes = 128;
  _tile_stored(0, sums, row_bytes);
  _tile_stored(1, sums + 16, row_bytes);
  _tile_stored(2, sums + 512, row_bytes);
  _tile_stored(3, sums + 528, row_bytes);
  asm volatile("" ::: "memory");
}

// Two tiles of A, each with rows `step` bytes apart.
struct TilesOfA {
  const std::byte *first, *second;
  std::int64_t step;
};

// How A is read: `reused` keeps it in L1, `streamed` leaves L1 to B.
enum class Reading { reused, streamed };

// Load a tile of A into register 4 or 5, which instructions name.
template <Reading reading>
[[gnu::always_inline]] inline void load_first(const std::byte* a, std::int64_t step) {
  if constexpr (reading == Reading::streamed)
    _tile_stream_loadd(4, a, step);
  else
    _tile_loadd(4, a, step);
}
template <Reading reading>
[[gnu::always_inline]] inline void load_second(const std::byte* a, std::int64_t step) {
  if constexpr (reading == Reading::streamed)
    _tile_stream_loadd(5, a, step);
  else
    _tile_loadd(5, a, step);
}

// Store what these have loaded, its rows one behind the other.
template <bool two>
[[gnu::always_inline]] inline void store_tiles_of_a(std::byte* first, std::byte* second) {
  _tile_stored(4, first, 64);
  if constexpr (two) _tile_stored(5, second, 64);
}

template <Reading reading>
[[gnu::always_inline]] inline void multiply_block(const std::byte* a, const std::byte* b) {
  load_first<reading>(a, 64);
  _tile_loadd(6, b, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  load_second<reading>(a + 1024, 64);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// Multiplies `steps` blocks of A and B and calls `work.step(rows)` between them, so that the work
// left on the previous block hides behind the tiles.
template <Reading reading, class Work>
[[gnu::always_inline]] inline void multiply_run(const std::byte* a, std::int64_t a_step,
                                                const std::byte* b, std::int64_t b_step,
                                                std::int64_t steps, Work& work, int rows) {
  for (std::int64_t i = 0; i < steps; ++i, a += a_step, b += b_step) {
    work.step(rows);
    multiply_block<reading>(a, b);
  }
}

[[gnu::always_inline]] inline __m512i to_bf16(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Transposes 16 x 16 values of 32 bits.
[[gnu::always_inline]] inline void transpose(__m512i* r) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  constexpr int even = 0x88, odd = 0xdd;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], even);
    t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], odd);
    t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], even);
    t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], odd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], even);
    r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], odd);
    r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], even);
    r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], odd);
  }
}

// Transposes a tile in memory. Loading quarters of rows into lanes takes half of the shuffles.
[[gnu::always_inline]] inline void transpose_tile(std::byte* tile) {
  __m512i r[16];
#pragma GCC unroll 4
  for (int quarter = 0; quarter < 4; ++quarter)
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      const auto* from = reinterpret_cast<const __m128i*>(tile + row * 64) + quarter;
      __m512i lanes = _mm512_zextsi128_si512(_mm_load_si128(from));
      lanes = _mm512_maskz_inserti32x4(0xffff, lanes, _mm_load_si128(from + 16), 1);
      lanes = _mm512_maskz_inserti32x4(0xffff, lanes, _mm_load_si128(from + 32), 2);
      r[quarter * 4 + row] = _mm512_maskz_inserti32x4(0xffff, lanes, _mm_load_si128(from + 48), 3);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i a = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    const __m512i b = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    const __m512i c = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]);
    const __m512i d = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
    r[i] = _mm512_unpacklo_epi64(a, c);
    r[i + 1] = _mm512_unpackhi_epi64(a, c);
    r[i + 2] = _mm512_unpacklo_epi64(b, d);
    r[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_store_si512(tile + 64 * i, r[i]);
}

alignas(64) inline constexpr std::uint16_t low_pairs[32] = {
    0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
alignas(64) inline constexpr std::uint16_t high_pairs[32] = {
    16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
    24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};

// Stores a line of a block, into the caches or past them.
template <bool stream>
[[gnu::always_inline]] inline void store_line(std::byte* to, __m512i line) {
  if constexpr (stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  else
    _mm512_store_si512(to, line);
}

// Packs 32 rows of 32 bf16, `step` bytes apart, into a block of B; the contraction is over rows.
template <bool stream = false>
[[gnu::always_inline]] inline void pack_b(const std::byte* rows, std::int64_t step,
                                          std::byte* block) {
  const __m512i low = _mm512_load_si512(low_pairs), high = _mm512_load_si512(high_pairs);
  for (std::int64_t i = 0; i < 16; ++i) {
    const __m512i x = _mm512_loadu_si512(rows + 2 * i * step);
    const __m512i y = _mm512_loadu_si512(rows + (2 * i + 1) * step);
    store_line<stream>(block + 64 * i, _mm512_permutex2var_epi16(x, low, y));
    store_line<stream>(block + 1024 + 64 * i, _mm512_permutex2var_epi16(x, high, y));
  }
}

// Packs such rows into a block of A, whose rows are their columns.
template <bool stream = false>
[[gnu::always_inline]] inline void pack_a_transposed(const std::byte* rows, std::int64_t step,
                                                     std::byte* block) {
  for (int half = 0; half < 2; ++half) {
    const __m512i order = _mm512_load_si512(half == 0 ? low_pairs : high_pairs);
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      r[i] = _mm512_permutex2var_epi16(_mm512_loadu_si512(rows + 2 * i * step), order,
                                       _mm512_loadu_si512(rows + (2 * i + 1) * step));
    transpose(r);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) store_line<stream>(block + half * 1024 + 64 * i, r[i]);
  }
}

// Packs 32 rows of 32 bf16, `step` bytes apart, into a block of B whose columns are the rows; the
// contraction is along the rows.
[[gnu::always_inline]] inline void pack_b_transposed(const std::byte* rows, std::int64_t step,
                                                     std::byte* block) {
  for (int half = 0; half < 2; ++half) {
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_si512(rows + (16 * half + i) * step);
    transpose(r);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm512_store_si512(block + half * 1024 + 64 * i, r[i]);
  }
}

}  // namespace narrowgauge::cpu::amx

#endif
