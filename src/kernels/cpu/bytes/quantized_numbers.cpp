// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "kernels/cpu/bytes/quantized_convolution.h"
#include "kernels/cpu/bytes/quantized_finish.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

double quantized_number(const Call& call, const Int8Numbers& numbers, std::int64_t i,
                        double missing) {
  if (numbers.count == 0) return missing;
  return load_element(numbers.dtype, call.inputs[numbers.input], numbers.count > 1 ? i : 0);
}

// The number for column i from a list of f32, which has one for each column or one for all;
// `missing` where there is no list.
float float_number(const Call& call, const Int8Numbers& numbers, std::int64_t i, float missing) {
  if (numbers.count == 0) return missing;
  return static_cast<const float*>(call.inputs[numbers.input])[numbers.count > 1 ? i : 0];
}

}  // namespace

QuantizedSteps quantized_steps(const QuantizedNumbers& numbers, const Call& call, DType y) {
  QuantizedSteps steps{};
  steps.x_scale = static_cast<float>(quantized_number(call, numbers.x_scale, 0, 1));
  steps.y_scale = static_cast<float>(quantized_number(call, numbers.y_scale, 0, 1));
  if (numbers.gelu) steps.gelu_factor = 1 / std::exchange(steps.y_scale, 1.0F);
  steps.x_zero = static_cast<std::int32_t>(quantized_number(call, numbers.x_zero, 0, 0));
  steps.y_zero = static_cast<std::int32_t>(quantized_number(call, numbers.y_zero, 0, 0));
  const auto residual = static_cast<float>(quantized_number(call, numbers.residual_scale, 0, 1));
  steps.residual_factor = residual / steps.y_scale;
  steps.residual_zero = static_cast<float>(quantized_number(call, numbers.residual_zero, 0, 0));
  steps.low = static_cast<float>(numbers.low) / steps.y_scale;
  steps.high = static_cast<float>(numbers.high) / steps.y_scale;
  if (is_floating(y)) return steps;
  steps.low = std::clamp(steps.low, -most_quantized_steps, most_quantized_steps);
  steps.high = std::clamp(steps.high, -most_quantized_steps, most_quantized_steps);
  return steps;
}

QuantizedColumn quantized_column(const QuantizedNumbers& numbers, const QuantizedSteps& steps,
                                 const Call& call, std::int64_t column) {
  const float scale = float_number(call, numbers.w_scale, column, 1);
  const float bias = float_number(call, numbers.bias, column, 0);
  return {steps.x_scale * scale / steps.y_scale, bias / steps.y_scale};
}

std::int32_t quantized_w_zero_of(const QuantizedNumbers& numbers, const Call& call,
                                 std::int64_t column) {
  return static_cast<std::int32_t>(quantized_number(call, numbers.w_zero, column, 0));
}

}  // namespace narrowgauge::cpu
