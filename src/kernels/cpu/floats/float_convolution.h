// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 as IEEE has it, for constant weights: blocks of pixels by panels of packed
// weights (float_rows.h). A sum with a residual and bounds on the result are computed before it is
// stored.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

struct FloatTail {
  int residual = -1;  // of Call::inputs: added to the convolution, lies as y does; -1: none
  FloatBounds bounds;
};

// Why these kernels do not take a convolution whose inputs at the places `lasting` of Call::inputs
// are constant; "" if they do.
std::string float_convolution_reason(const ConvolutionViews& views, const ConvolutionWindow& window,
                                     const std::vector<int>& lasting, Isa isa);

// Call::inputs: x, w, bias. Packs w, which must be constant.
Prepared prepare_float_convolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                                   const FloatTail& tail, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
