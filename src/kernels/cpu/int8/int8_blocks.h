// SPDX-License-Identifier: Apache-2.0
// The inner part of products of bytes: how operands are packed, and what each tier implements.
// A panel holds 32 rows of a, or 32 columns of b, in steps of 64 values of the sum, 2 KB each:
// rows as [32 rows][64 values], columns as [2 halves][16 fours of values][16 columns][4]. These
// are the tiles of AMX (two to a step), and VNNI and AVX2 multiply the same fours.
// AMX multiplies signed and unsigned bytes in each order. VNNI takes only u8 by s8: s8 rows are
// stored as a + 128, u8 columns as b - 128. With a' and b' for the stored values, za' and zb' for
// the zero points moved along, and sums over k values,
//   sum (a - za)(b - zb) = sum a'b' - za' (sum b' - k zb') - zb' sum a',
// where the padding of a panel is a' = b' = 0 and adds nothing.
// No int32 loses anything: a sum of products is at most 255 255 k, within int32 for k <= 33025;
// longer sums, and intermediate values of the correction, are meant modulo 2^32. Each step does
// exactly that: tiles and VPDPBUSD add four exact products of at most 17 bits and drop the carry
// out of int32 (never VPDPBUSDS); AVX2 adds two exact products of 17 bits by VPMADDWD, whose
// factors, at most 255 by -128, are far from its one overflow; and 32-bit sums and products of the
// correction wrap as well. Since the integers modulo 2^32 are a ring, every order of the same terms
// gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "narrowgauge/isa.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t int8_step = 64;  // values of a sum
inline constexpr std::int64_t int8_step_bytes = 2048;
inline constexpr std::int64_t int8_square = 32;  // rows and columns of a result
inline constexpr std::int64_t int8_square_sums = 1024;
inline constexpr std::int64_t int8_square_bytes = int8_square_sums * 4;
inline constexpr std::int64_t int8_run = 16;  // steps of columns that stay in L1: 32 KB

// An int32 as a number modulo 2^32, and the other way round.
constexpr std::uint32_t as_modular(std::int32_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::int32_t from_modular(std::uint32_t x) { return static_cast<std::int32_t>(x); }

// Rows of a, or columns of b: `outer` of at most 32, of `depth` values each.
struct Int8Source {
  const std::uint8_t* data;
  std::int64_t outer, depth;
  std::int64_t outer_step, depth_step;
  const std::int64_t* depth_at = nullptr;  // where the values lie instead, of neighbours in `outer`
};

struct Int8Form {
  bool rows;          // of a, not columns of b
  bool is_signed;     // what is stored
  std::uint8_t flip;  // 0x80 where s8 becomes u8 or the other way round, else 0
};

// Where the results of a strip go: y = sum + row_terms[r] + column_terms[c]
//   - row_factors[i][r] column_factors[i][c], i = 0, 1;
// with scales, round(y row_scales[r] column_scales[c]) + zero, saturated; NaN gives the least. Rows
// and columns count from the strip's first.
struct Int8Finish {
  const std::int32_t *row_terms, *column_terms;
  const std::int32_t* row_factors[2];
  const std::int32_t* column_factors[2];  // both null for none
  const float *row_scales, *column_scales;
  std::int32_t zero;
  bool is_signed;  // bytes
  // Pieces of the columns: those in `mask` go to y + offset bytes, as if all columns went there.
  struct Piece {
    std::uint32_t mask;
    std::int64_t offset;
  };
  const Piece* pieces;
  std::int64_t piece_count;
  std::byte* y;
  std::int64_t pitch;  // bytes from row to row
  std::int64_t rows;
  bool stream;  // past the caches; y and pitch are multiples of 64
};

// One panel of columns against several panels of rows.
struct Int8Strip {
  const std::byte *a, *b;
  std::int64_t a_step;  // bytes from the rows of a square to those of the next
  std::int64_t squares, steps;
  bool a_signed, b_signed;
  std::int32_t*
      sums;  // [square][32][32]: of the steps before, unless `first`; after, unless `last`
  bool first;
  const Int8Finish* last;  // null: not the last steps
  const std::byte* next;   // columns that are wanted next, as many: prefetched into L2; or null
};

struct Int8Kernels {
  std::string_view name;
  Isa isa;
  bool offsets;  // a is stored as u8 and b as s8
  // Packs a panel; adds the stored values of each row or column to sums[32], unless it is null.
  void (*pack)(const Int8Source& source, const Int8Form& form, std::byte* panel,
               std::int32_t* sums);
  void (*multiply)(const Int8Strip& strip);
};

// The kernels for isa().
const Int8Kernels& int8_kernels();

namespace avx2 {
void int8_pack(const Int8Source& source, const Int8Form& form, std::byte* panel,
               std::int32_t* sums);
void int8_multiply(const Int8Strip& strip);
}  // namespace avx2
namespace avx512 {  // with VNNI
void int8_pack(const Int8Source& source, const Int8Form& form, std::byte* panel,
               std::int32_t* sums);
void int8_multiply(const Int8Strip& strip);
}  // namespace avx512
namespace amx {
void int8_multiply(const Int8Strip& strip);
}  // namespace amx

}  // namespace narrowgauge::cpu
