// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions and products as rows of bytes by panels of weights (quantized_rows.h).
#pragma once

#include "kernels/cpu/bytes/quantized_convolution.h"

namespace narrowgauge::cpu {

// Operands have their channels together. Packs constant weights.
Prepared prepare_quantized_rows(const QuantizedViews& views, const ConvolutionWindow& window,
                                const QuantizedNumbers& numbers, int threads);

}  // namespace narrowgauge::cpu
