// SPDX-License-Identifier: Apache-2.0
// Matrix products on the tiles of AMX. bf16 operands are multiplied as they are; f32 and f16
// operands as the sum of two bf16, hi and lo, whose products hi*hi + hi*lo + lo*hi are summed in
// f32 (bf16x3). The error is 4.4e-6 of the result's norm for f32, against 2.9e-4 for TF32. f16
// splits exactly, its subnormals too; lo*lo, at most 2^-18 of a product, is left out.
//
// Subnormals of f32 and bf16 count as zero in operands, products and sums, and f32 below 2^-118
// keeps only hi. An output that an infinity or NaN reaches is not finite; in bf16x3 the same holds
// for f32 values beyond bf16's range (3.39e38). The same bits for any number of threads.
#pragma once

#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Why tiles cannot take the product; "" when they can.
std::string tile_gemm_reason(const MatMulViews& views, Isa isa);

// Throws as prepare_matmul does, and UsageError if there is a reason.
Prepared prepare_tile_gemm(const MatMulViews& views, const ContractionOptions& options);

// The activation of a sum, product + bias, before rounding.
//   gelu: y = gelu(sum)   gelu_gradient: y = sum * the slope of gelu at x
enum class TileActivation { none, gelu, gelu_gradient };

// The epilogue of a product of bf16 with y in bf16. Call::inputs: a, b, bias, and for gelu_gradient
// x, laid out as y. Call::outputs: y; for gelu also the rounded sums, laid out as y; for
// gelu_gradient also the column sums of y before rounding, dense. The second output may be null.
struct TileEpilogue {
  TileActivation activation = TileActivation::none;
  DType column_sums = DType::f32;
};
std::string tile_epilogue_reason(const MatMulViews& views, const TileEpilogue& epilogue);
Prepared prepare_tile_gemm(const MatMulViews& views, const ContractionOptions& options,
                           const TileEpilogue& epilogue);

}  // namespace narrowgauge::cpu
