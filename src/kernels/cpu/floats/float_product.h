// SPDX-License-Identifier: Apache-2.0
// Products of f32 by a constant matrix, as convolutions of single pixels (float_convolution.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Why these kernels do not take a product whose inputs at the places `lasting` of Call::inputs are
// constant; "" if they do.
std::string float_product_reason(const MatMulViews& views, const std::vector<int>& lasting,
                                 Isa isa);

// Call::inputs: a, b, bias. Packs b, which must be constant.
Prepared prepare_float_product(const MatMulViews& views, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
