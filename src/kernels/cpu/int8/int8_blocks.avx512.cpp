// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_blocks.h"

#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/int8/int8_finish_avx512.h"
#include "kernels/cpu/lanes/assembly_avx512.h"
#include "kernels/cpu/lanes/transpose_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr std::int64_t four_bytes = 64, half_bytes = 1024;  // of 16 columns

[[gnu::always_inline]] inline void add_values(__m512i& sum, __m512i values, bool is_signed) {
  const __m512i ones = _mm512_set1_epi8(1);
  if (is_signed)
    add_products_of_bytes(sum, ones, values);
  else
    add_products_of_bytes(sum, values, ones);
}

template <class Mask>
Mask first(std::int64_t count) {
  constexpr std::int64_t lanes = 8 * static_cast<std::int64_t>(sizeof(Mask));
  if (count >= lanes) return static_cast<Mask>(~Mask{0});
  return static_cast<Mask>(count <= 0 ? 0 : (Mask{1} << count) - 1);
}

struct Packing {
  std::int64_t steps;
  __m512i flip;
  bool is_signed;
  std::int32_t* sums;
};

// Packs values of a sum that are contiguous, as rows of 64 of them.
void pack_rows(const Int8Source& source, const Packing& packing, std::byte* panel) {
  for (std::int64_t r = 0; r < int8_square; ++r) {
    const std::uint8_t* const row = source.data + (r < source.outer ? r * source.outer_step : 0);
    std::byte* to = panel + 64 * r;
    __m512i sum = _mm512_setzero_si512();
    for (std::int64_t s = 0; s < packing.steps; ++s, to += int8_step_bytes) {
      const __mmask64 mask =
          r < source.outer ? first<__mmask64>(source.depth - int8_step * s) : __mmask64{0};
      const __m512i values = _mm512_maskz_loadu_epi8(mask, row + (mask ? int8_step * s : 0));
      const __m512i stored = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(values, packing.flip));
      _mm512_storeu_si512(to, stored);
      if (packing.sums) add_values(sum, stored, packing.is_signed);
    }
    if (!packing.sums) continue;
    alignas(64) std::int32_t lanes[16];
    _mm512_store_si512(lanes, sum);
    for (const std::int32_t lane : lanes)
      packing.sums[r] = static_cast<std::int32_t>(static_cast<std::uint32_t>(packing.sums[r]) +
                                                  static_cast<std::uint32_t>(lane));
  }
}

// Interleaves 32 bytes of four rows to 32 fours: [0] of columns 0 to 15, [1] of 16 to 31.
[[gnu::always_inline]] inline void interleave(const __m256i (&rows)[4], __m512i (&fours)[2]) {
  const __m256i a = _mm256_unpacklo_epi8(rows[0], rows[1]);
  const __m256i b = _mm256_unpackhi_epi8(rows[0], rows[1]);
  const __m256i c = _mm256_unpacklo_epi8(rows[2], rows[3]);
  const __m256i d = _mm256_unpackhi_epi8(rows[2], rows[3]);
  const __m256i e[4] = {_mm256_unpacklo_epi16(a, c), _mm256_unpackhi_epi16(a, c),
                        _mm256_unpacklo_epi16(b, d), _mm256_unpackhi_epi16(b, d)};
  fours[0] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_permute2x128_si256(e[0], e[1], 0x20)),
                                _mm256_permute2x128_si256(e[2], e[3], 0x20), 1);
  fours[1] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_permute2x128_si256(e[0], e[1], 0x31)),
                                _mm256_permute2x128_si256(e[2], e[3], 0x31), 1);
}

[[gnu::always_inline]] inline void add_to(std::int32_t* sums, __m512i more) {
  _mm512_storeu_si512(sums, _mm512_add_epi32(_mm512_loadu_si512(sums), more));
}

// Packs values that are contiguous along `outer`, as fours of columns.
void pack_columns(const Int8Source& source, const Packing& packing, std::byte* panel) {
  const __mmask32 mask = first<__mmask32>(source.outer);
  const __m256i flip = _mm512_castsi512_si256(packing.flip);
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::int64_t k = 0; k < packing.steps * int8_step; k += 4) {
    __m256i rows[4];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < 4; ++i) {
      rows[i] = _mm256_setzero_si256();
      if (k + i >= source.depth) continue;
      const std::int64_t at =
          source.depth_at ? source.depth_at[k + i] : (k + i) * source.depth_step;
      rows[i] = _mm256_maskz_mov_epi8(
          mask, _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, source.data + at), flip));
    }
    __m512i fours[2];
    interleave(rows, fours);
    std::byte* const to = panel + k / int8_step * int8_step_bytes + k % int8_step / 4 * four_bytes;
    _mm512_storeu_si512(to, fours[0]);
    _mm512_storeu_si512(to + half_bytes, fours[1]);
    if (!packing.sums) continue;
    for (int i = 0; i < 2; ++i) add_values(sums[i], fours[i], packing.is_signed);
  }
  if (!packing.sums) return;
  add_to(packing.sums, sums[0]);
  add_to(packing.sums + 16, sums[1]);
}

// Packs values contiguous along neither, a step at a time as rows of its own.
void pack_scattered(const Int8Source& source, const Packing& packing, std::byte* panel) {
  alignas(64) std::uint8_t rows[int8_square][int8_step];
  Packing one = packing;
  one.steps = 1;
  for (std::int64_t s = 0; s < packing.steps; ++s) {
    const std::int64_t depth = std::min(int8_step, source.depth - int8_step * s);
    const std::uint8_t* const from = source.data + int8_step * s * source.depth_step;
    for (std::int64_t r = 0; r < source.outer; ++r)
      for (std::int64_t k = 0; k < depth; ++k)
        rows[r][k] = from[r * source.outer_step + k * source.depth_step];
    pack_rows({rows[0], source.outer, depth, int8_step, 1}, one, panel + s * int8_step_bytes);
  }
}

// Eight rows of a square: 8 x 2 vectors of sums.
struct Eight {
  __m512i sums[8][2];

  [[gnu::always_inline]] void load(const std::int32_t* from) {
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r)
      for (int h = 0; h < 2; ++h)
        sums[r][h] = from ? _mm512_loadu_si512(from + r * 32 + h * 16) : _mm512_setzero_si512();
  }
  [[gnu::always_inline]] void store(std::int32_t* to) const {
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r)
      for (int h = 0; h < 2; ++h) _mm512_storeu_si512(to + r * 32 + h * 16, sums[r][h]);
  }
  [[gnu::always_inline]] void multiply(const std::byte* a, const std::byte* b, std::int64_t steps) {
    for (std::int64_t s = 0; s < steps; ++s, a += int8_step_bytes, b += int8_step_bytes)
      for (std::int64_t four = 0; four < 16; ++four) {
        const __m512i low = _mm512_loadu_si512(b + four * four_bytes);
        const __m512i high = _mm512_loadu_si512(b + half_bytes + four * four_bytes);
        const std::byte* const values = a + 4 * four;
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r) {
          const __m512i row = broadcast(values + 64 * r);
          add_products_of_bytes(sums[r][0], row, low);
          add_products_of_bytes(sums[r][1], row, high);
        }
      }
  }
};

}  // namespace

void int8_pack(const Int8Source& source, const Int8Form& form, std::byte* panel,
               std::int32_t* sums) {
  const Packing packing{(source.depth + int8_step - 1) / int8_step,
                        _mm512_set1_epi8(static_cast<char>(form.flip)), form.is_signed, sums};
  const bool along = !source.depth_at && (source.depth_step == 1 || source.depth <= 1);
  const bool across = source.depth_at || (!along && (source.outer_step == 1 || source.outer <= 1));
  if (along)
    pack_rows(source, packing, panel);
  else if (across)
    pack_columns(source, packing, panel);
  else
    pack_scattered(source, packing, panel);
  if (form.rows != across) return;
  for (std::int64_t half = 0; half < 2 * packing.steps; ++half)
    transpose(panel + half * half_bytes, 64, panel + half * half_bytes, 64);
}

void int8_multiply(const Int8Strip& strip) {
  alignas(64) std::int32_t done[8 * int8_square];
  for (std::int64_t square = 0; square < strip.squares; ++square) {
    std::int32_t* const sums = strip.sums ? strip.sums + square * int8_square_sums : nullptr;
    for (std::int64_t group = 0; group < int8_square; group += 8) {
      const std::int64_t row = square * int8_square + group;
      if (strip.last && row >= strip.last->rows) break;
      Eight eight;
      eight.load(strip.first ? nullptr : sums + group * int8_square);
      eight.multiply(strip.a + square * strip.a_step + 64 * group, strip.b, strip.steps);
      if (!strip.last) {
        eight.store(sums + group * int8_square);
        continue;
      }
      eight.store(done);
      const Int8Finisher finisher(*strip.last);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(8, strip.last->rows - row); ++r)
        finisher.finish(done + r * int8_square, row + r);
    }
  }
  if (strip.last && strip.last->stream) _mm_sfence();
}

}  // namespace narrowgauge::cpu::avx512
