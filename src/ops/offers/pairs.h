// SPDX-License-Identifier: Apache-2.0
// When pairs of 16-bit values (kernels/cpu/pairs/pair_products.h) keep a contraction's contract.
#pragma once

#include <string>

#include "kernels/cpu/pairs/pair_products.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Why the format is unsuitable for a request by its math, dtypes and storage; "" if it is suitable.
// bf16 is where the tiles of AMX would be, too; dfp16 is for f16 and bf16 operands under their own
// math, for f32 operands under f32 if nothing is better, and for f32 and f16 under dfp16.
std::string pair_reason(cpu::PairFormat format, const Request& request);

}  // namespace narrowgauge
