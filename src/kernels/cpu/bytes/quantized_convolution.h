// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of quantised bytes with their epilogue: bias, residual, bounds and the
// next quantisation, in one pass over the result. Sums are exact; quantized_rows.h says how.
#pragma once

#include <optional>
#include <string>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/int8/int8_gemm.h"

namespace narrowgauge::cpu {

// The places of Call::inputs; those that are not given are null.
enum QuantizedInput : int {
  quantized_x,
  quantized_w,
  quantized_x_scale,
  quantized_x_zero,
  quantized_w_scale,
  quantized_w_zero,
  quantized_bias,
  quantized_residual,
  quantized_residual_scale,
  quantized_residual_zero,
  quantized_y_scale,
  quantized_y_zero,
  quantized_inputs
};

// One scale and zero point for x, the residual and y; one or one for each output channel for w. y
// without a scale is f32; so may the residual be.
struct QuantizedNumbers {
  Int8Numbers x_scale, x_zero, w_scale, w_zero, bias;
  Int8Numbers residual_scale, residual_zero, y_scale, y_zero;
  double low, high;   // bounds of the result, before it is quantised
  bool gelu = false;  // of the result, before it is quantised; without a residual and bounds
};

// x [N, C, spatial...], w [M, C / groups, kernel...], y and the residual [N, M, spatial...]; x, w
// and a residual of bytes or f32, y of bytes, f32 or, without a residual, bf16.
struct QuantizedViews {
  View x, w, y;
  std::optional<View> residual;
  bool w_lasts = false;
  bool numbers_last = false;  // all scales and zero points, and the bias
};

// Numbers in steps of y, or of 1 before a gelu, that are the same for all columns.
struct QuantizedSteps {
  float x_scale, y_scale;
  float gelu_factor = 0;  // to steps of y
  float residual_factor = 0, residual_zero = 0;
  float low, high;
  std::int32_t x_zero = 0, y_zero = 0;
};
QuantizedSteps quantized_steps(const QuantizedNumbers& numbers, const Call& call, DType y);
// The factor of the sums of one column, and its bias.
struct QuantizedColumn {
  float factor, bias;
};
QuantizedColumn quantized_column(const QuantizedNumbers& numbers, const QuantizedSteps& steps,
                                 const Call& call, std::int64_t column);
std::int32_t quantized_w_zero_of(const QuantizedNumbers& numbers, const Call& call,
                                 std::int64_t column);

// Why the kernels cannot take it; "" when they can.
std::string quantized_convolution_reason(const QuantizedViews& views);
// Prepares a convolution of any layout, fastest where channels lie together. `threads`: 0 for
// thread_count().
Prepared prepare_quantized_convolution(const QuantizedViews& views, const ConvolutionWindow& window,
                                       const QuantizedNumbers& numbers, int threads = 0);

}  // namespace narrowgauge::cpu
