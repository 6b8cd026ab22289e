// SPDX-License-Identifier: Apache-2.0
// When pairs of 16 bits (kernels/cpu/pair_products.h) keep what a contraction was promised.
#pragma once

#include <string>

#include "kernels/cpu/pair_products.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Why the format is not the way to run a request; "" when it is, as far as math, dtypes and storage
// say: bf16 where the tiles of AMX would be, too; dfp16 of f16 and bf16 operands under their own
// math, of f32 operands under f32 where nothing is better, of f32 and f16 under dfp16.
std::string pair_reason(cpu::PairFormat format, const Request& request);

// The product of a and b, the request's first two inputs, and of a bias where `inputs` has a third;
// or why not.
Offer offer_pair_matmul(cpu::PairFormat format, const Request& request,
                        const cpu::MatMulViews& views, std::vector<int> inputs);

}  // namespace narrowgauge
