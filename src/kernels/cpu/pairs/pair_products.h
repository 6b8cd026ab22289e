// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions on units that multiply pairs of 16-bit values (pair_tile.h). The
// same bits for any number of threads.
#pragma once

#include <string>
#include <string_view>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

enum class PairFormat {
  // Block dynamic fixed point: f32, f16 or bf16 in and out, int16 blocks with their own scales in
  // between, for CPUs with AVX512_VNNI (dfp16_scales_avx512.h) or AMX-INT8 (dfp16_blocks.h, not for
  // bf16). From f16 and bf16, the error is at most 1.35 times that of exact sums of the same
  // operands (1.8 times for heavy tails of f16); from f32 it is less than that of operands rounded
  // to f16. The bound holds for a row as a whole: small values next to a large one lose bits, and
  // so do rows below 2^-95. A value that is not finite makes everything NaN that its block takes
  // part in.
  dfp16,
  // bf16 as it is, for CPUs with AVX512_BF16 and no tiles: exact products summed in f32; subnormals
  // are zeros.
  bf16,
};

std::string_view name(PairFormat format);  // "dfp16", "pairs of bf16"

// Why the format cannot multiply these there; "" if it can. The views must fit (contraction.h).
std::string pair_matmul_reason(PairFormat format, const MatMulViews& views, Isa isa);

// Call::inputs: a, b, bias. Throws UsageError with the reason if there is one.
Prepared prepare_pair_matmul(PairFormat format, const MatMulViews& views,
                             const ContractionOptions& options);

// Why the format cannot compute a convolution; "" if it can: two spatial axes, contiguous channels,
// at least 16 on both sides, and one group. In a weight gradient, a dfp16 scale covers a channel of
// x in a band of two images.
std::string pair_convolution_reason(PairFormat format, ConvolutionPass pass,
                                    const ConvolutionViews& views, const ConvolutionWindow& window,
                                    Isa isa);

// Call::inputs are those of prepare_convolution. Throws UsageError with the reason if there is one.
Prepared prepare_pair_convolution(PairFormat format, ConvolutionPass pass,
                                  const ConvolutionViews& views, const ConvolutionWindow& window,
                                  const ContractionOptions& options);

}  // namespace narrowgauge::cpu
