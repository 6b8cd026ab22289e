// SPDX-License-Identifier: Apache-2.0
// Convolutions and products by weights that last, on the tiles of AMX: pixels in rows of tiles
// (pixel_lines.h), weights packed once (pixel_weights.h). bf16 is multiplied as it is, f32 as the
// sum of two bf16 (tile_gemm.h). A sum meets its bias, a residual and an activation before it is
// rounded and stored. The same bits for any number of threads.
#pragma once

#include <limits>

#include "kernels/cpu/tiles/pixel_weights.h"

namespace narrowgauge::cpu {

// What a sum with its bias goes through: y = bound(sum + residual), or gelu(sum), of which results
// in f32 have none. The residual has the dtype of y and lies as y does; Call::inputs has it behind
// x, w and bias.
struct PixelEpilogue {
  bool residual = false, gelu = false;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Why tiles cannot take a forward convolution, whose weights last; "" when they can.
std::string pixel_convolution_reason(const ConvolutionViews& views, const ConvolutionWindow& window,
                                     Isa isa);

// Throws as prepare_convolution does, and UsageError if there is a reason. options.finish runs over
// each part of the result.
Prepared prepare_pixel_convolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                                   const PixelEpilogue& epilogue,
                                   const ContractionOptions& options);

struct PixelConvolutionTask {
  PixelProduct product;  // sums begin with the bias
  const std::byte* residual;
  std::byte* y;
  DType dtype;            // of y
  bool split;             // x and the weights are f32
  std::int64_t channels;  // of y
  PixelEpilogue epilogue;
};
namespace amx {
void convolve_pixels(const PixelConvolutionTask& task);
}  // namespace amx

}  // namespace narrowgauge::cpu
