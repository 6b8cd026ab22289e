// SPDX-License-Identifier: Apache-2.0
// What became of a training step.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/export.h"

namespace narrowgauge {

// All but `applied` skip the step; the numbers are those that the graph's output holds.
enum class StepOutcome : std::uint8_t {
  applied = 0,
  gradient_overflow =
      1,                // a scaled gradient was not finite: the scale goes down, which may mend it
  loss_not_finite = 2,  // made in the forward pass: the scale has no part in it and stays
  gradient_not_finite = 3  // at the smallest scale: nothing is left to lower
};
NG_API std::string_view name(StepOutcome outcome);  // "gradient overflow"

}  // namespace narrowgauge
