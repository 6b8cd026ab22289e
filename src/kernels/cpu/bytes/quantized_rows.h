// SPDX-License-Identifier: Apache-2.0
// The inner part of products of rows of bytes by packed weights: how both are packed, and what each
// tier multiplies.
// VNNI multiplies fours of u8 by s8: a row is stored as u8 (s8 as x + 128), padding is the zero
// point, and the sum of a column of weights times the zero point is taken off. Weights are stored
// as s8 (u8 as w - 128), and the zero point of a column takes off its multiple of the row's sum.
// AVX2 has fours as well, but adds two products in 16 bits that saturate. Fours of weights that
// could get there are stored twice, each time with a half of each weight, so that sums stay exact.
// Where that is many of them, AVX2 multiplies pairs of 16 bits: a row is stored as x - x_zero,
// which fits, so that padding is 0 and nothing is corrected behind the sums. All is exact modulo
// 2^32: pairs and fours of products stay far below 2^31, and so do sums of up to 33025 products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/cpu/bytes/quantized_finish.h"
#include "narrowgauge/isa.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t quantized_most_rows = 14;  // of any tier
inline constexpr std::int64_t quantized_most_panels = 2;

// A panel of weights [groups][16][group]. `places`: the bytes of a row that each group is for;
// null: one group after the other.
struct QuantizedColumns {
  const std::byte* weights;
  std::int64_t groups;
  const std::int32_t* places;
};

// Rows [rows][depth] in the tier's form, by `panels` panels.
struct QuantizedProduct {
  const std::byte* rows;
  std::int64_t row_bytes, row_count;
  QuantizedColumns columns;
  std::int64_t panels, panel_bytes;  // from panel to panel
  const std::int32_t* starts;        // of the sums of the columns, for a tier that takes them
  const std::byte* next;             // as many bytes of weights as a panel, which may be prefetched
  std::int32_t* sums;                // [row_count][panels * 16]
};

struct QuantizedTier {
  std::string_view name;
  Isa isa;
  std::int64_t rows;  // that are multiplied together
  std::int64_t panels = 1;
  std::int64_t group;  // neighbours of a sum that lie together
  bool wide;           // rows are i16, less their zero point
  bool saturates;      // two products of bytes are added in 16 bits
  bool takes_starts = false;
  void (*multiply)(const QuantizedProduct& product);
};

// The tier for isa() that takes all weights, and one that is faster where it takes them, or null.
const QuantizedTier& quantized_tier();
const QuantizedTier* quantized_saturating_tier();

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

namespace avx512 {  // with VNNI
void quantized_multiply(const QuantizedProduct& product);
}  // namespace avx512

}  // namespace narrowgauge::cpu
