// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 over two spatial axes that give each channel a window of its own, for
// constant weights and operands whose channels lie together.
#pragma once

#include "kernels/cpu/floats/float_convolution.h"

namespace narrowgauge::cpu {

// Whether each channel has a window of its own, and one result.
bool is_float_depthwise(const ConvolutionViews& views, const ConvolutionWindow& window);

// Prepares as prepare_float_convolution() does.
Prepared prepare_float_depthwise(const ConvolutionViews& views, const ConvolutionWindow& window,
                                 const FloatTail& tail, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
