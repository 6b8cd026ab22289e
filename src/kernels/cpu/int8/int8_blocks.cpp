// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_blocks.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/machine/cpu.h"

namespace narrowgauge::cpu {
namespace avx2 {
namespace {

// The place of a value in a panel.
std::int64_t place(bool rows, std::int64_t outer, std::int64_t k) {
  const std::int64_t step = k / int8_step * int8_step_bytes, in_step = k % int8_step;
  if (rows) return step + 64 * outer + in_step;
  return step + outer / 16 * 1024 + in_step / 4 * 64 + outer % 16 * 4 + in_step % 4;
}

// Rows of 4 columns: fours of bytes times fours of bytes, two sums to a column.
constexpr int pair = 2, vectors = 4;

struct PairSums {
  __m256i of[pair][vectors];
};

[[gnu::always_inline]] inline void add_fours(const std::byte* a, const std::byte* b,
                                             PairSums& sums) {
  __m256i columns[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    columns[v] =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 16 * v)));
#pragma GCC unroll 2
  for (int r = 0; r < pair; ++r) {
    std::int32_t four;
    std::memcpy(&four, a + 64 * r, sizeof four);
    const __m256i row = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(four)));
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      sums.of[r][v] = _mm256_add_epi32(sums.of[r][v], _mm256_madd_epi16(row, columns[v]));
  }
}

// 16 columns of two rows, added to `to`.
void multiply_pair(const std::byte* a, const std::byte* b, std::int64_t steps, std::int32_t* to) {
  PairSums sums{};
  for (std::int64_t s = 0; s < steps; ++s, a += int8_step_bytes, b += int8_step_bytes)
    for (std::int64_t four = 0; four < 16; ++four) add_fours(a + 4 * four, b + 64 * four, sums);
  for (int r = 0; r < pair; ++r)
    for (int v = 0; v < vectors; v += 2) {
      // Vectors of 4 columns are [c0 c1 | c2 c3]; added in pairs, [c0 c1 d0 d1 | c2 c3 d2 d3].
      const __m256i both =
          _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums.of[r][v], sums.of[r][v + 1]), 0xd8);
      auto* const at = reinterpret_cast<__m256i*>(to + r * int8_square + 4 * v);
      _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), both));
    }
}

std::int32_t finished_sum(const Int8Finish& finish, std::int32_t sum, std::int64_t row,
                          std::int64_t column) {
  std::uint32_t y =
      as_modular(sum) + as_modular(finish.row_terms[row]) + as_modular(finish.column_terms[column]);
  for (int i = 0; i < 2; ++i)
    if (finish.row_factors[i])
      y -= as_modular(finish.row_factors[i][row]) * as_modular(finish.column_factors[i][column]);
  return from_modular(y);
}

std::uint8_t quantised(const Int8Finish& finish, std::int32_t sum, float scale) {
  const std::int32_t least = finish.is_signed ? -128 : 0, most = finish.is_signed ? 127 : 255;
  const float x = static_cast<float>(sum) * scale;
  if (!(x > -0x1p30F)) return static_cast<std::uint8_t>(least);
  const auto whole = static_cast<std::int32_t>(std::nearbyint(std::min(x, 0x1p30F)));
  return static_cast<std::uint8_t>(std::clamp(whole + finish.zero, least, most));
}

void finish_row(const Int8Finish& finish, const std::int32_t* sums, std::int64_t row) {
  std::int32_t y[int8_square];
  for (std::int64_t c = 0; c < int8_square; ++c) y[c] = finished_sum(finish, sums[c], row, c);
  for (std::int64_t i = 0; i < finish.piece_count; ++i) {
    const Int8Finish::Piece& piece = finish.pieces[i];
    std::byte* const to = finish.y + row * finish.pitch + piece.offset;
    for (std::int64_t c = 0; c < int8_square; ++c) {
      if (!(piece.mask >> c & 1)) continue;
      if (finish.row_scales)
        to[c] = static_cast<std::byte>(
            quantised(finish, y[c], finish.row_scales[row] * finish.column_scales[c]));
      else
        std::memcpy(to + 4 * c, &y[c], 4);
    }
  }
}

}  // namespace

void int8_pack(const Int8Source& source, const Int8Form& form, std::byte* panel,
               std::int32_t* sums) {
  const std::int64_t padded = (source.depth + int8_step - 1) / int8_step * int8_step;
  std::memset(panel, 0, static_cast<std::size_t>(padded / int8_step * int8_step_bytes));
  for (std::int64_t k = 0; k < source.depth; ++k) {
    const std::int64_t at = source.depth_at ? source.depth_at[k] : k * source.depth_step;
    const std::int64_t step = source.depth_at ? 1 : source.outer_step;
    for (std::int64_t r = 0; r < source.outer; ++r) {
      const auto value = static_cast<std::uint8_t>(source.data[at + r * step] ^ form.flip);
      panel[place(form.rows, r, k)] = std::byte{value};
      if (!sums) continue;
      const std::int32_t stored = form.is_signed ? static_cast<std::int8_t>(value) : value;
      sums[r] = from_modular(as_modular(sums[r]) + as_modular(stored));
    }
  }
}

void int8_multiply(const Int8Strip& strip) {
  for (std::int64_t square = 0; square < strip.squares; ++square) {
    alignas(32) std::int32_t own[int8_square_sums];
    std::int32_t* const sums = strip.last ? own : strip.sums + square * int8_square_sums;
    if (strip.first)
      std::memset(sums, 0, sizeof own);
    else if (strip.last)
      std::memcpy(sums, strip.sums + square * int8_square_sums, sizeof own);
    const std::byte* const a = strip.a + square * strip.a_step;
    const std::int64_t rows =
        strip.last ? std::min(int8_square, strip.last->rows - square * int8_square) : int8_square;
    for (std::int64_t r = 0; r < rows; r += pair)
      for (std::int64_t half = 0; half < 2; ++half)
        multiply_pair(a + 64 * r, strip.b + 1024 * half, strip.steps,
                      sums + r * int8_square + 16 * half);
    if (!strip.last) continue;
    for (std::int64_t r = 0; r < rows; ++r)
      finish_row(*strip.last, sums + r * int8_square, square * int8_square + r);
  }
}

}  // namespace avx2

const Int8Kernels& int8_kernels() {
  static constexpr Int8Kernels tiles{"int8, amx", Isa::amx, false, avx512::int8_pack,
                                     amx::int8_multiply};
  static constexpr Int8Kernels vnni{"int8, vnni", Isa::vnni, true, avx512::int8_pack,
                                    avx512::int8_multiply};
  static constexpr Int8Kernels plain{"int8, avx2", Isa::avx2, true, avx2::int8_pack,
                                     avx2::int8_multiply};
  if (isa() >= Isa::amx) return tiles;
  return isa() >= Isa::vnni ? vnni : plain;
}

}  // namespace narrowgauge::cpu
