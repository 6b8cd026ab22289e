// SPDX-License-Identifier: Apache-2.0
// What kernels of groups ask of an operand.
#pragma once

#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Why an operand is not an image in batch-inner blocks of these dims, or not a vector of f32; "" if
// it is. An operand that is not present is allowed as either.
std::string image_reason(const Operand& operand, const Dims& dims);
std::string vector_reason(const Operand& operand);

}  // namespace narrowgauge
