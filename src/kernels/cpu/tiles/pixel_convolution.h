// SPDX-License-Identifier: Apache-2.0
// Convolutions and products by constant weights, on the tiles of AMX: pixels in rows of tiles
// (pixel_lines.h), weights packed once (pixel_weights.h). bf16 is multiplied as it is, f32 as the
// sum of two bf16 (tile_gemm.h). The same bits for any number of threads.
#pragma once

#include "kernels/cpu/contraction/bounded_convolution.h"
#include "kernels/cpu/tiles/pixel_weights.h"

namespace narrowgauge::cpu {

// Why tiles cannot take a forward convolution; "" when they can. The residual has the dtype of y
// and lies as y does. Gelu is for results of bf16, which it gives within 2^-15 of itself before
// rounding.
std::string pixel_convolution_reason(const BoundedConvolution& convolution, Isa isa);

// Throws as prepare_convolution does, and UsageError if there is a reason. `finish` runs over each
// part of the result.
Prepared prepare_pixel_convolution(const BoundedConvolution& convolution,
                                   const Finish& finish = {});

struct PixelConvolutionTask {
  PixelProduct product;
  const float* bias;  // padded
  const std::byte* residual;
  std::byte* y;
  DType dtype;            // of y
  bool split;             // x and the weights are f32
  std::int64_t channels;  // of y
  float low, high;
  bool gelu;  // in the place of a residual and bounds
};
namespace amx {
void convolve_pixels(const PixelConvolutionTask& task);
}  // namespace amx

}  // namespace narrowgauge::cpu
