// SPDX-License-Identifier: Apache-2.0
// What leads to a gradient that has passed a Relu: ConvDataGradient, Add, ReluGradient, each of
// them or not, and nobody else reads what is between them.
#pragma once

#include "passes/group_former.h"

namespace narrowgauge {

GroupFormer::Members slope_chain(const GroupFormer& former, Value slope);

}  // namespace narrowgauge
