// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions of each channel by itself with VNNI, for 64 channels and four pixels at a
// time.
#pragma once

#include <string>

#include "base/machine/cpu.h"
#include "kernels/cpu/bytes/quantized_convolution.h"

namespace narrowgauge::cpu {

// Why the kernel cannot take it; "" when it can.
std::string woven_depthwise_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa);
Prepared prepare_woven_depthwise(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads);

}  // namespace narrowgauge::cpu
