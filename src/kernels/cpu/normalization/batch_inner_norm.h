// SPDX-License-Identifier: Apache-2.0
// Batch normalization of f32, f16 or bf16 images in batch-inner blocks (batch_inner.h): one pass
// over memory in its own order, with the sums of all channels in L1. Keeps the promises of
// batch_norm.h.
#pragma once

#include <cstddef>

#include "kernels/cpu/normalization/batch_norm.h"

namespace narrowgauge::cpu::batch_inner {

// Whether these arrays lie in batch-inner blocks and the CPU can run the functions below.
bool takes(const ChannelLayout& layout, std::initializer_list<ConstArray> arrays);
std::int64_t workspace(const ChannelLayout& layout);

void statistics(const ChannelLayout& layout, ConstArray x, float epsilon,
                const BatchStatistics& statistics, void* workspace);
// y = (x - mean) * factor + constant, plus what BatchNormApply adds.
void apply(const BatchNormApply& norm, const float* factor, const float* constant);

void gradient_sums(const BatchNormBackward& norm, const GradientSums& sums, void* workspace);
// dx = factor * ((dy - dy_mean) - (x - mean) * slope).
struct GradientFactors {
  const float *factor, *dy_mean, *slope;
};
void gradient(const BatchNormBackward& norm, const GradientFactors& factors);

namespace amx {

// `count` pixels of `blocks` blocks each, one after the other; arrays per channel hold 32 values
// for each block.
struct Pixels {
  std::int64_t count, blocks;
};
// Mean and sum of squared deviations of x - shift.
struct Moments {
  const float* shift;
  float *mean, *squares;
};
void moments(DType dtype, const std::byte* x, Pixels pixels, const Moments& moments);
struct Affine {
  const float *mean, *factor, *constant;
  bool relu;
};
// `other` may be null. Returns how many results were not zero in f32 and became zero in f16.
std::int64_t affine(DType dtype, const std::byte* x, const std::byte* other, Pixels pixels,
                    const Affine& affine, std::byte* y);
struct Sums {
  const float* mean;
  float *dy, *product, *deviation;
};
void gradient_sums(DType dtype, const std::byte* dy, const std::byte* x, Pixels pixels,
                   const Sums& sums);
// Operands of gradient(), which returns what affine() returns; `other` may be null.
struct Slope {
  const std::byte *dy, *x, *other;
};
std::int64_t gradient(DType dtype, const Slope& slope, Pixels pixels, const float* mean,
                      const GradientFactors& factors, std::byte* dx);

}  // namespace amx
}  // namespace narrowgauge::cpu::batch_inner
