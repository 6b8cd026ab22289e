// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

// The largest difference from the expected numbers, relative to the largest of these; NaN where
// both have it is no difference, where one has it an infinite one.
double relative_difference(const Tensor& got, const Tensor& expected);

}  // namespace narrowgauge::cli
