// SPDX-License-Identifier: Apache-2.0
// dfp16 on the tiles of AMX-INT8. A block of at most 256 values under one scale is
//   q = rint(x 32639 / max|x|) = 256 h + l, h in [-127, 127], l in [-128, 127],
// two signed bytes. Of the four products of two such blocks, l l' is left out unless both have
// large values beside much smaller ones: with crest = max|x| / rms, it is about
// crest crest' 74^2 / 32639^2 of the result, 5e-6 crest crest'. Sums are exact in int32 and as f32:
//   |sum h h'| <= 256 127^2,  |sum h l' + l h'| <= 256 (2 127 128),  |sum l l'| <= 256 128^2,
// all below 2^24.
// What is not finite makes the scale NaN, as in dfp16_scales_avx512.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/pairs/pair_unit.h"

namespace narrowgauge::cpu {

// 64 values of a sum, for 32 rows or columns: two tiles each of h and l. Tiles of rows: [16
// rows][64 values]; of columns: [16 fours of values][16 columns][4].
inline constexpr std::int64_t dfp16_step = 64;
inline constexpr std::int64_t dfp16_step_bytes = 4096;
inline constexpr std::int64_t dfp16_block_bytes = pair_block / dfp16_step * dfp16_step_bytes;
inline constexpr std::int64_t dfp16_square = 32;        // rows and columns of a result
inline constexpr std::int64_t dfp16_block_scales = 48;  // 32 scales, the largest crest^2, nothing

namespace amx {

struct Dfp16Shape {
  std::int64_t count, depth;  // rows or columns, at most 32; values of a sum, at most 256
  bool rows;                  // of a, not columns of b
  bool dense_sums;            // the values of a sum lie next to each other
};
// Packs one block and its scales.
void dfp16_pack(const PairSource& source, const Dfp16Shape& shape, std::byte* q, float* scales);

// Multiplies one block of columns by the same block of several squares of rows.
struct Dfp16Strip {
  const std::byte *a, *b;
  std::int64_t a_step;  // bytes from the rows of a square to those of the next
  const float *a_scales, *b_scales;
  std::int64_t a_scales_step;
  std::int64_t squares, steps;
  float* sums;  // [square][32][32] f32, `sums_step` elements apart: added to
  std::int64_t sums_step;
  // The result, when the sums are complete.
  void* y;  // or null
  std::int64_t pitch, rows, columns;
  DType dtype;  // f32, f16 or bf16
};
// Returns how many nonzero results became zero in f16.
std::int64_t dfp16_multiply(const Dfp16Strip& strip);

}  // namespace amx
}  // namespace narrowgauge::cpu
