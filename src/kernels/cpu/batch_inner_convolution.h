// SPDX-License-Identifier: Apache-2.0
// Convolutions of bf16 images in batch-inner blocks (batch_inner.h) on the tiles of AMX: products
// exact, f32 accumulation, one rounding on store; subnormals count as zero, as the tiles have it.
// The same bits for any number of threads.
#pragma once

#include <optional>
#include <string>

#include "kernels/cpu/batch_inner.h"
#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

// Dims as in ConvolutionViews, two spatial axes. x and y lie batch-inner, w and the bias [M]
// plainly and densely. In a gradient pass x, w and y stand for the gradients of these; dw and the
// bias may be f32 or bf16, everything else is bf16.
struct BatchInnerConvolution {
  ConvolutionPass pass;
  Dims x, w, y;
  ConvolutionWindow window;
  DType weight = DType::bf16;
  std::optional<DType> bias{};  // only forward
};

BatchInnerImages batch_inner_images(const Dims& dims);

// Why there is no such kernel for these sizes on this machine; "" when there is.
std::string batch_inner_reason(const BatchInnerConvolution& convolution);

// Of it what concerns the dtypes of weights and bias.
std::string parameter_reason(const BatchInnerConvolution& convolution);
// The bias of a forward pass as f32; zeros where there is none.
void load_bias(std::optional<DType> dtype, const void* given, std::int64_t channels, float* bias);

// Call::inputs as prepare_convolution has them. Throws UsageError with the reason if there is one.
Prepared prepare_batch_inner_convolution(const BatchInnerConvolution& convolution);

}  // namespace narrowgauge::cpu
