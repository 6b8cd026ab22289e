// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions on units that multiply pairs of 16 bits (pair_tile.h). The same
// bits for any number of threads.
#pragma once

#include <string>
#include <string_view>

#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

enum class PairFormat {
  // Block dynamic fixed point: f32, f16 or bf16 in and out, int16 blocks with their own scales in
  // between, for CPUs with AVX512_VNNI (dfp16_scales_avx512.h) or AMX-INT8 (dfp16_blocks.h, not of
  // bf16). From f16 and bf16, the error is at most 1.35 times that of exact sums of the same
  // operands (1.8 times for heavy tails of f16); from f32 it is less than that of operands rounded
  // to f16. The bound holds for a row as a whole: a small value next to a large one loses bits, and
  // so do rows that are below 2^-95. Where a value is not finite, everything that its block takes
  // part in is NaN.
  dfp16,
  // bf16 as it is, for CPUs with AVX512_BF16 and no tiles: products are exact and added up in f32,
  // subnormals are zeros.
  bf16,
};

std::string_view name(PairFormat format);  // "dfp16", "pairs of bf16"

// Why the format is not the way to multiply these; "" when it is. The views must fit
// (contraction.h).
std::string pair_matmul_reason(PairFormat format, const MatMulViews& views);

// Call::inputs: a, b, bias. Throws UsageError with the reason if there is one.
Prepared prepare_pair_matmul(PairFormat format, const MatMulViews& views,
                             const ContractionOptions& options);

// The same for convolutions over two spatial axes, with channels that lie next to each other, at
// least 16 of them on both sides, and one group. For a weight gradient, a scale of dfp16 holds for
// a channel of x in a band of two images.
std::string pair_convolution_reason(PairFormat format, ConvolutionPass pass,
                                    const ConvolutionViews& views, const ConvolutionWindow& window);

// Call::inputs as prepare_convolution has them. Throws UsageError with the reason if there is one.
Prepared prepare_pair_convolution(PairFormat format, ConvolutionPass pass,
                                  const ConvolutionViews& views, const ConvolutionWindow& window,
                                  const ContractionOptions& options);

}  // namespace narrowgauge::cpu
