// SPDX-License-Identifier: Apache-2.0
// Max pooling of f32, f16 or bf16 images in batch-inner blocks (batch_inner.h), and its gradient:
// 32 channels of an image at a time, in vectors.
#pragma once

#include <string>

#include "kernels/cpu/pool/pooling.h"

namespace narrowgauge::cpu {

// Dims [N, C, H, W] of whole blocks. The index of the chosen element is a u8, as in PoolWindow's
// functions. `window` spans two axes and at most 256 elements.
struct BatchInnerMaxPool {
  Dims x, y;
  PoolWindow window;
  DType dtype = DType::bf16;
  bool taps = true;  // forward: written beside y
};

// Why no such kernel exists for such a CPU; "" if one does.
std::string batch_inner_max_pool_reason(const BatchInnerMaxPool& pool, Isa isa);

// inputs {x}, outputs {y, taps}, as in prepare_max_pool.
Prepared prepare_batch_inner_max_pool(const BatchInnerMaxPool& pool);
// inputs {dy, taps}, outputs {dx}.
Prepared prepare_batch_inner_max_pool_gradient(const BatchInnerMaxPool& pool);

namespace amx {

// A place of the other side that is seen through a tap: offset in elements.
struct PoolTap {
  std::int64_t offset;
  std::uint8_t tap;
};
struct PoolTaps {
  const PoolTap* list;
  int count;
};
// Pools a pixel's `count` elements, all blocks of its channels; images are aligned to 64 bytes.
void max_pool_pixel(DType dtype, const void* x, const PoolTaps& taps, std::int64_t count, void* y,
                    std::uint8_t* taken);
// The gradient of one pixel. Returns how many results were not zero in f32 and became zero in f16.
std::int64_t max_pool_gradient_pixel(DType dtype, const void* dy, const std::uint8_t* taken,
                                     const PoolTaps& taps, std::int64_t count, void* dx);

}  // namespace amx
}  // namespace narrowgauge::cpu
