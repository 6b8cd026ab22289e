// SPDX-License-Identifier: Apache-2.0
// Connects a request to the contraction kernels: views of operands, reasons to decline, the offer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

cpu::View kernel_view(const Operand& operand);

// Why the contraction kernels cannot take a request; "" if they can. If a way of keeping f32 is
// asked for (dfp16, bf16x3), they compute in ieee what no kernel before them took.
std::string contraction_reason(const Request& request);
// Why the tiles of AMX do not keep what is asked of a product; "" if they do. They multiply bf16
// operands as they are, and f32 and f16 as bf16x3, which keeps f32 and f16 but not ieee.
std::string tile_product_reason(const Request& request);
// The part of tile_product_reason() that concerns math and dtype.
std::string tile_math_reason(Math math, DType dtype, const Target& target);
// Why the operands are not in plain storage; "" if they are.
std::string storage_reason(const Request& request);
cpu::ContractionOptions contraction_options(const Request& request);

// Writes into an offer what its prepared kernel is and how much workspace it needs.
void describe(Offer& offer, const cpu::Prepared& prepared);

// Offers a prepared kernel: its input i is the node's input inputs[i], its output the first output.
Offer offer_prepared(cpu::Prepared prepared, std::vector<int> inputs);
// Calls `prepare` when the kernel is chosen; the function must not refer to the request.
Offer offer_prepared(std::function<cpu::Prepared()> prepare, std::vector<int> inputs);

// Declines with contraction_reason, else offers what `prepare` returns.
Offer offer_contraction(const Request& request, std::vector<int> inputs,
                        std::function<cpu::Prepared()> prepare);

}  // namespace narrowgauge
