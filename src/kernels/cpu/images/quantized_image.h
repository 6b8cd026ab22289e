// SPDX-License-Identifier: Apache-2.0
// The first convolution of a quantised network with VNNI: fours of neighbouring bytes of a plain
// image meet the weights of 16 channels.
#pragma once

#include <string>

#include "base/machine/cpu.h"
#include "kernels/cpu/bytes/quantized_convolution.h"

namespace narrowgauge::cpu {

// Why the kernel cannot take it; "" when it can.
std::string quantized_image_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa);
Prepared prepare_quantized_image(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads);

}  // namespace narrowgauge::cpu
