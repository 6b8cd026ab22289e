// SPDX-License-Identifier: Apache-2.0
// What leads to a gradient that has passed a Relu: ConvDataGradient, Add, ReluGradient, each of
// them or not, and nobody else reads what is between them. What the ReluGradient reads may be
// normalized again just for it.
#pragma once

#include "passes/group_former.h"

namespace narrowgauge {

GroupFormer::Members slope_chain(const GroupFormer& former, Value slope);

// The NormalizeAgain, and the Relu behind it, that make a value only for this reader; or nothing.
GroupFormer::Members normalized_again(const GroupFormer& former, Value value, int reader);

}  // namespace narrowgauge
