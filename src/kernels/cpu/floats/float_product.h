// SPDX-License-Identifier: Apache-2.0
// Products of f32 by a matrix that lasts, as convolutions of single pixels (float_convolution.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Why these do not take a product with those of Call::inputs that last; "" if they do.
std::string float_product_reason(const MatMulViews& views, const std::vector<int>& lasting,
                                 Isa isa);

// Call::inputs: a, b, bias. Packs b, which must last.
Prepared prepare_float_product(const MatMulViews& views, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
