// SPDX-License-Identifier: Apache-2.0
// From a request to the contraction kernels: views of operands, what is declined, the offer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/contraction.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

cpu::View kernel_view(const Operand& operand);

// Why the contraction kernels cannot take a request; "" when they can. Where a way of keeping f32
// is asked for (dfp16, bf16x3), they compute in ieee what no kernel before them took.
std::string contraction_reason(const Request& request);
// Why the tiles of AMX do not keep what is asked of a product: bf16 operands are multiplied as they
// are, f32 and f16 ones as bf16x3, which keeps f32 and f16 but not ieee; "" when they do.
std::string tile_product_reason(const Request& request);
// Of it what concerns math and dtype.
std::string tile_math_reason(Math math, DType dtype);
// Why the operands do not lie as kernels of plain storage want them; "" when they do.
std::string storage_reason(const Request& request);
// Whether f32 of f32 values may be less than ieee: not under NARROWGAUGE_FAST_MATH=0. Throws
// UsageError where that is neither 0 nor 1.
bool fast_math();
cpu::ContractionOptions contraction_options(const Request& request);

// Runs what was prepared: its input i is the node's input inputs[i], its output the first output.
Offer offer_prepared(cpu::Prepared prepared, std::vector<int> inputs);

// Declines with contraction_reason, else offers what `prepare` returns.
Offer offer_contraction(const Request& request, std::vector<int> inputs,
                        const std::function<cpu::Prepared()>& prepare);

}  // namespace narrowgauge
