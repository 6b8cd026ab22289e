// SPDX-License-Identifier: Apache-2.0
// When block dynamic fixed point (kernels/cpu/dfp16.h) keeps what a contraction was promised.
#pragma once

#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Why dfp16 is not the way to run a request; "" when it is, as far as math, dtypes and storage say:
// f16 operands under f16, f32 operands under f32 where nothing is better, both under dfp16.
std::string dfp16_reason(const Request& request);

}  // namespace narrowgauge
