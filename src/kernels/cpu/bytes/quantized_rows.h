// SPDX-License-Identifier: Apache-2.0
// The inner part of products of rows of bytes by packed weights: how both are packed, what each
// tier multiplies, and what becomes of the sums.
// AVX2 multiplies pairs of 16 bits. A row is stored as x - x_zero, which fits, so that padding is 0
// and nothing is corrected behind the sums. VNNI multiplies fours of u8 by s8: a row is stored as
// u8 (s8 as x + 128), padding is the zero point, and the sum of a column of weights times the zero
// point is taken off. Weights are stored as s8 (u8 as w - 128), and the zero point of a column
// takes off its multiple of the row's sum. All is exact modulo 2^32: pairs and fours of products
// stay far below 2^31, and so do sums of up to 33025 products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "narrowgauge/dtype.h"
#include "narrowgauge/isa.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t quantized_panel = 16;      // columns that are packed together
inline constexpr std::int64_t quantized_most_rows = 12;  // of any tier

// Rows [rows][depth] in the tier's form, and a panel of weights [depth / group][16][group].
struct QuantizedProduct {
  const std::byte* rows;
  std::int64_t row_bytes, row_count;
  const std::byte* panel;
  std::int64_t groups;
  std::int32_t* sums;  // [row_count][16]
};

struct QuantizedTier {
  std::string_view name;
  Isa isa;
  std::int64_t rows;   // that are multiplied together
  std::int64_t group;  // neighbours of a sum that lie together
  bool wide;           // rows are i16, less their zero point
  void (*multiply)(const QuantizedProduct& product);
};

// The tier for isa().
const QuantizedTier& quantized_tier();

// Stores `count` bytes of x as a part of a row; adds what they stand for, in i16 less the zero
// point and in u8 as stored, to *sum unless it is null. `flip`: 0x80 where s8 is stored as u8.
struct QuantizedSource {
  bool is_signed;
  std::int32_t zero;
};
void store_wide(const std::byte* x, std::int64_t count, const QuantizedSource& source,
                std::byte* row, std::int32_t* sum);
void store_narrow(const std::byte* x, std::int64_t count, const QuantizedSource& source,
                  std::byte* row, std::int32_t* sum);

// What becomes of the sums of up to 16 columns, in steps of y:
//   y = bound((sum - zeros row_sum - offsets) factors + biases + (r - r_zero) r_factor)
// with fused multiply-adds; then bytes are rounded to nearest even, moved by y_zero and saturated,
// and NaN gives y_zero. Lists are padded to whole panels.
struct QuantizedFinish {
  const float *factors, *biases;
  const std::int32_t* zeros;    // null: all 0
  const std::int32_t* offsets;  // null: all 0
  DType residual = DType::f32;
  float residual_factor, residual_zero;
  float low, high;
  DType y = DType::u8;
  std::int32_t y_zero;
};
struct QuantizedPlace {
  std::int64_t rows, column, columns;  // of the tile; the first column of the lists
  const std::int32_t *sums, *row_sums;
  const std::byte* residual;  // null: none
  std::byte* y;
  std::int64_t pitch;  // elements from row to row, of y and the residual
  std::int64_t sums_pitch = quantized_panel;
};
void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place);

namespace avx2 {
void quantized_multiply(const QuantizedProduct& product);
}  // namespace avx2
namespace avx512 {  // with VNNI
void quantized_multiply(const QuantizedProduct& product);
}  // namespace avx512

}  // namespace narrowgauge::cpu
