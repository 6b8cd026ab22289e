// SPDX-License-Identifier: Apache-2.0
// Batch-inner blocks (batch_inner.h) of f32 and f16 on the bf16 tiles of AMX: a value is the sum of
// two bf16, high and low, and a product is high * high + high * low + low * high. An f16 is exactly
// such a sum; of an f32, 16 bits are kept. Low is zero where high is not finite. The error of sums
// of f32 products is 4.4e-6 of their norm.
//
// A convolution's contraction goes along 32 channels, which are crossed into pairs i and 16 + i, in
// split_blocks and pack_split_weights alike. Everything else keeps the order of memory.
#pragma once

#include "kernels/cpu/core/batch_inner.h"
#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

// The size of a block of A or B: first its high parts, then its low parts.
inline constexpr std::int64_t split_block_bytes = 2 * block_bytes;

namespace amx {

// Splits `count` consecutive blocks of such images into crossed blocks of A.
void split_blocks(const BatchInnerImages& images, const std::byte* blocks, std::int64_t count,
                  std::byte* split);
// Splits values in rows of 32 into rows of high and of low parts, each in its own array.
void split_values(DType dtype, const std::byte* values, std::int64_t count, std::byte* high,
                  std::byte* low);
// Do what pack_row and pack_weights do, from f32 or f16 to split blocks.
void pack_split_row(DType dtype, const std::byte* row, const RowPacking& packing, std::int64_t slot,
                    const PackedRows& packed);
// The weights have the dtype of the images.
void pack_split_weights(const BatchInnerImages& images, const std::byte* weights,
                        const WeightBlocks& blocks, std::int64_t begin, std::int64_t end,
                        std::byte* packed);
void weight_gradient_split(const WeightGradientPlan& plan, const WeightGradientPiece& piece);

}  // namespace amx
}  // namespace narrowgauge::cpu
