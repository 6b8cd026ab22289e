// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of products of bytes: bias, residual, bounds and the next quantisation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t quantized_panel = 16;  // columns that are taken together
// Results of more steps are saturated whatever the zero point is.
inline constexpr float most_quantized_steps = 1024;

struct QuantizedFinish;
struct QuantizedPlace;
using FinishSums = void (*)(const QuantizedFinish& finish, const QuantizedPlace& place);

// The epilogue of a quantised sum, in steps of y, for each column:
//   y = bound((starts + sum - zeros row_sum) factors + biases + (r - r_zero) r_factor)
// with fused multiply-adds; or, with gelu_factor not 0 and without a residual, for bytes,
//   y = bound(gelu((starts + sum - zeros row_sum) factors + biases) gelu_factor)
// Then bytes are rounded to nearest even, moved by y_zero and saturated, and NaN gives y_zero. bf16
// has no residual. Lists are padded to whole panels.
struct QuantizedFinish {
  FinishSums of_tier;
  const float *factors, *biases;
  const std::int32_t* zeros;   // null: all 0
  const std::int32_t* starts;  // null: all 0
  DType residual = DType::f32;
  float residual_factor, residual_zero;
  float gelu_factor;
  float low, high;
  DType y = DType::u8;
  std::int32_t y_zero;
  bool saturates;  // saturation_bounds()
  // The bound that no result exceeds before it is bounded, if the residual is of bytes; may be
  // infinite or NaN.
  float largest;
};
// Where sums and their results lie. Whole panels of sums are read, also behind the last column.
struct QuantizedPlace {
  std::int64_t rows, column, columns;  // columns: from `column` on of the lists
  const std::int32_t *sums, *row_sums;
  std::int64_t sums_pitch;    // from row to row
  const std::byte* residual;  // null: none
  std::byte* y;
  std::int64_t pitch;  // elements from row to row, of y and the residual
};
inline void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place) {
  finish.of_tier(finish, place);
}

// Whether no result needs a bound before it is stored: results of bf16 that have none, and bytes of
// results that fit into integers, are never NaN, and reach no bound before a byte is full.
bool saturation_bounds(const QuantizedFinish& finish, bool residual);

// The fastest for isa().
FinishSums quantized_finish();
namespace avx512 {
void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place);
}  // namespace avx512

}  // namespace narrowgauge::cpu
