// SPDX-License-Identifier: Apache-2.0
// Connects operands to the kernels that work along one axis.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/normalization/softmax.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Whether elements are plain, row-major and without gaps.
bool is_dense(const Operand& operand);
// Whether elements are without gaps and row-major with axis 1 behind the others, of which there are
// at least two.
bool is_channels_last(const Operand& operand);

// The one AxisLayout of several operands of one shape, all without gaps.
struct SharedAxis {
  cpu::AxisLayout layout;
  std::string reason;  // why there is none; "" when there is one
};
// Takes f32, f16 and bf16: dense row-major operands for any axis, channels last for axis 1. `axis`
// counts from 0.
SharedAxis shared_axis(const std::vector<const Operand*>& operands, std::size_t axis);

}  // namespace narrowgauge
