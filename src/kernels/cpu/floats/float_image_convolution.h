// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network in f32, for constant weights: it reads plain images of few
// channels, so that nothing moves them first.
#pragma once

#include "kernels/cpu/floats/float_convolution.h"

namespace narrowgauge::cpu {

bool is_float_image(const ConvolutionViews& views, const ConvolutionWindow& window);

// Prepares as prepare_float_convolution() does.
Prepared prepare_float_image(const ConvolutionViews& views, const ConvolutionWindow& window,
                             const FloatTail& tail, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
