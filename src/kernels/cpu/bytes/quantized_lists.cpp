// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_lists.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace narrowgauge::cpu {

std::string QuantizedLists::format(DType y) const {
  return concat("starts ", numbers_.low, ' ', numbers_.high, numbers_.gelu ? " gelu " : " ", y,
                ' ');
}

std::vector<int> QuantizedLists::inputs() const {
  std::vector<int> inputs;
  for (const Int8Numbers& each :
       {numbers_.x_scale, numbers_.x_zero, numbers_.w_scale, numbers_.w_zero, numbers_.bias,
        numbers_.residual_scale, numbers_.residual_zero, numbers_.y_scale, numbers_.y_zero})
    if (each.count > 0) inputs.push_back(each.input);
  return inputs;
}

void QuantizedLists::fill(const Call& call, const QuantizedSteps& steps, std::byte* memory,
                          const Stored& stored) const {
  const std::int64_t count = groups_ * padded_;
  auto* const factors = reinterpret_cast<float*>(memory);
  float* const biases = factors + count;
  auto* const zeros = reinterpret_cast<std::int32_t*>(biases + count);
  std::int32_t* const starts = zeros + count;
  std::fill_n(memory, bytes(), std::byte{0});
  constexpr float most_sum = 0x1p31F, most_residual = 0x1p9F;
  float largest = 0;
  for (std::int64_t group = 0; group < groups_; ++group)
    for (std::int64_t i = 0; i < in_group_; ++i) {
      const std::int64_t at = group * padded_ + i, column = group * in_group_ + i;
      const QuantizedColumn one = quantized_column(numbers_, steps, call, column);
      const float size = std::abs(one.factor) * most_sum + std::abs(one.bias);
      if (!(size <= largest)) largest = size;
      factors[at] = one.factor;
      biases[at] = one.bias;
      zeros[at] = quantized_w_zero_of(numbers_, call, column) - stored.w_moved;
      if (stored.column_sums)
        starts[at] = static_cast<std::int32_t>(
            static_cast<std::uint32_t>(-std::int64_t{stored.x_zero} * stored.column_sums[at]));
    }
  if (numbers_.gelu)
    largest *= steps.gelu_factor;
  else
    largest += std::abs(steps.residual_factor) * most_residual;
  std::memcpy(starts + count, &largest, sizeof largest);
}

QuantizedFinish QuantizedLists::read(const std::byte* memory, const QuantizedSteps& steps,
                                     const Stored& stored) const {
  const std::int64_t count = groups_ * padded_;
  const auto* const factors = reinterpret_cast<const float*>(memory);
  const auto* const zeros = reinterpret_cast<const std::int32_t*>(factors + 2 * count);
  QuantizedFinish finish{};
  finish.of_tier = of_tier_;
  finish.factors = factors;
  finish.biases = factors + count;
  finish.zeros = numbers_.w_zero.count > 0 || stored.w_moved != 0 ? zeros : nullptr;
  finish.starts = stored.column_sums ? zeros + count : nullptr;
  finish.residual_factor = steps.residual_factor;
  finish.residual_zero = steps.residual_zero;
  finish.gelu_factor = steps.gelu_factor;
  finish.low = steps.low;
  finish.high = steps.high;
  finish.y_zero = steps.y_zero;
  std::memcpy(&finish.largest, zeros + 2 * count, sizeof finish.largest);
  return finish;
}

}  // namespace narrowgauge::cpu
