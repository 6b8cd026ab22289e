// SPDX-License-Identifier: Apache-2.0
// The nodes before a gradient that has passed a Relu: an optional ConvDataGradient, Add and
// ReluGradient, with no other readers in between. The ReluGradient's input may be normalized again
// just for it.
#pragma once

#include "passes/group_former.h"

namespace narrowgauge {

GroupFormer::Members slope_chain(const GroupFormer& former, Value slope);

// The NormalizeAgain, and the Relu after it, that compute a value only for this reader; or nothing.
GroupFormer::Members normalized_again(const GroupFormer& former, Value value, int reader);

}  // namespace narrowgauge
