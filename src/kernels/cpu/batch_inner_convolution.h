// SPDX-License-Identifier: Apache-2.0
// Convolutions of images in batch-inner blocks (batch_inner.h) on the tiles of AMX: f32
// accumulation, one rounding on store; subnormals count as zero, as the tiles have it. Products of
// bf16 are exact, those of f32 and f16 as split.h has them. The same bits for any number of
// threads.
#pragma once

#include <optional>
#include <string>

#include "kernels/cpu/batch_inner.h"
#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

// Dims as in ConvolutionViews, two spatial axes. x and y lie batch-inner, w and the bias [M]
// plainly and densely. In a gradient pass x, w and y stand for the gradients of these; dw and the
// bias may be f32, everything else is of the images' dtype.
struct BatchInnerConvolution {
  ConvolutionPass pass;
  Dims x, w, y;
  ConvolutionWindow window;
  DType weight = DType::bf16;
  std::optional<DType> bias{};  // only forward
  DType image = DType::bf16;    // of x and y; or f32 or f16
  // Only in the weight gradient: what is multiplied is x normalized, (x - mean) * factor +
  // constant, at least 0 for `normalized_relu`, rounded as if it had been stored. Call::inputs end
  // with mean, factor and constant, f32 [C].
  enum class Given { plain, normalized, normalized_relu } given = Given::plain;
};

BatchInnerImages batch_inner_images(const Dims& dims);

// Why there is no such kernel for these sizes on this machine; "" when there is.
std::string batch_inner_reason(const BatchInnerConvolution& convolution);

// Of it what concerns dtypes.
std::string parameter_reason(const BatchInnerConvolution& convolution);
// The bias of a forward pass as f32; zeros where there is none.
void load_bias(std::optional<DType> dtype, const void* given, std::int64_t channels, float* bias);

// Call::inputs as prepare_convolution has them. Throws UsageError with the reason if there is one.
Prepared prepare_batch_inner_convolution(const BatchInnerConvolution& convolution);

}  // namespace narrowgauge::cpu
