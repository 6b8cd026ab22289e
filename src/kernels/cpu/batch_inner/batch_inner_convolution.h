// SPDX-License-Identifier: Apache-2.0
// Convolutions of images in batch-inner blocks (batch_inner.h) on AMX tiles: f32 accumulation, one
// rounding on store; subnormals count as zero, as on the tiles. Products of bf16 are exact, those
// of f32 and f16 as in split.h. The same bits for any number of threads.
#pragma once

#include <optional>
#include <string>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/batch_inner.h"

namespace narrowgauge::cpu {

// Dims as in ConvolutionViews, with two spatial axes. x and y lie in batch-inner blocks, w and the
// bias [M] are plain and dense. In a gradient pass x, w and y stand for their gradients; dw and the
// bias may be f32, everything else has the images' dtype.
struct BatchInnerConvolution {
  ConvolutionPass pass;
  Dims x, w, y;
  ConvolutionWindow window;
  DType weight = DType::bf16;
  std::optional<DType> bias{};  // only forward
  DType image = DType::bf16;    // of x and y; or f32 or f16
  int threads = 0;              // that run() may use; 0: thread_count() of the caller of prepare_*
  // Only for the weight gradient: multiplies x normalized, (x - mean) * factor + constant (at least
  // 0 for `normalized_relu`), rounded as if it had been stored. Call::inputs end with mean, factor
  // and constant, f32 [C].
  enum class Given { plain, normalized, normalized_relu } given = Given::plain;
};

BatchInnerImages batch_inner_images(const Dims& dims, DType dtype);

// Why no such kernel exists for these sizes on such a CPU; "" if one does.
std::string batch_inner_reason(const BatchInnerConvolution& convolution, Isa isa);

// The part of batch_inner_reason() that concerns dtypes.
std::string parameter_reason(const BatchInnerConvolution& convolution);
// Loads the bias of a forward pass as f32; zeros if there is none.
void load_bias(std::optional<DType> dtype, const void* given, std::int64_t channels, float* bias);

// Call::inputs are those of prepare_convolution. Throws UsageError with the reason if there is one.
Prepared prepare_batch_inner_convolution(const BatchInnerConvolution& convolution);

}  // namespace narrowgauge::cpu
