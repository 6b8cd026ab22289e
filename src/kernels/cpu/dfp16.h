// SPDX-License-Identifier: Apache-2.0
// Products in block dynamic fixed point: f32 or f16 in and out, int16 blocks with their own scales
// in between, for CPUs with AVX512_VNNI (dfp16_tile.h) or AMX-INT8 (dfp16_blocks.h). From f16, the
// error is at most 1.35 times that of exact sums of the same operands (1.8 times for heavy tails);
// from f32 it is less than that of operands rounded to f16. The bound holds for a row as a whole: a
// small value next to a large one loses bits, and so do rows of f32 that are below 2^-95. Where a
// value is not finite, everything that its block takes part in is NaN. The same bits for any number
// of threads.
#pragma once

#include <string>

#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

// Why dfp16 is not the way to multiply these; "" when it is. The views must fit (contraction.h).
std::string dfp16_matmul_reason(const MatMulViews& views);

// Call::inputs: a, b, bias. Throws UsageError with the reason if there is one.
Prepared prepare_dfp16_matmul(const MatMulViews& views, const ContractionOptions& options);

// The same for convolutions over two spatial axes, with channels that lie next to each other, at
// least 16 of them on both sides, and one group. For a weight gradient, a scale holds for a channel
// of x in a band of two images.
std::string dfp16_convolution_reason(ConvolutionPass pass, const ConvolutionViews& views,
                                     const ConvolutionWindow& window);

// Call::inputs as prepare_convolution has them. Throws UsageError with the reason if there is one.
Prepared prepare_dfp16_convolution(ConvolutionPass pass, const ConvolutionViews& views,
                                   const ConvolutionWindow& window,
                                   const ContractionOptions& options);

}  // namespace narrowgauge::cpu
