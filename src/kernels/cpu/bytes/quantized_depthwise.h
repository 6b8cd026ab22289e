// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions of each channel by itself: 16 channels that lie together, two taps at a
// time, as pairs of 16 bits less their zero points.
#pragma once

#include "kernels/cpu/bytes/quantized_convolution.h"

namespace narrowgauge::cpu {

// Whether each channel has a window of its own, and one result.
bool is_quantized_depthwise(const QuantizedViews& views, const ConvolutionWindow& window);
// x, y and the residual have their channels together.
Prepared prepare_quantized_depthwise(const QuantizedViews& views, const ConvolutionWindow& window,
                                     const QuantizedNumbers& numbers, int threads);

}  // namespace narrowgauge::cpu
