// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network on AMX tiles, from plain images of few channels into
// batch-inner blocks (batch_inner.h), and its weight gradient. A row of the kernel, all its columns
// and channels, is one run of the contraction, filled up with zero weights. Images with values that
// are not finite are convolved more slowly, window by window. Accuracy and bits are those of
// batch_inner_convolution.h.
#pragma once

#include <string>

#include "kernels/cpu/batch_inner/batch_inner_convolution.h"

namespace narrowgauge::cpu {

// The reason as in batch_inner_reason(), for plain and dense x [N, C, H, W].
std::string image_convolution_reason(const BatchInnerConvolution& convolution, Isa isa);

// The forward pass, followed by a Relu if wanted, or the weight gradient; Call::inputs are those of
// prepare_convolution. Throws UsageError with the reason if there is one.
Prepared prepare_image_convolution(const BatchInnerConvolution& convolution, bool relu = false);

// Padded rows of 32 images, [row][image][x, channel], or [row][x, channel][image] if the
// contraction is along images. Columns are a multiple of 32; what is beyond the images is zero.
struct ImageRows {
  std::byte* rows;
  std::int64_t columns;
  std::int64_t row_bytes() const { return columns * 64; }
};

// How the tiles meet: `steps` blocks of 32 columns for each of the kernel's rows.
struct ImagePlan {
  std::int64_t width, blocks;       // of y
  std::int64_t steps, step_bytes;   // bytes of x between neighbouring pixels of y
  const std::int64_t* kernel_rows;  // bytes from y's first row of x to each row of the kernel
  std::int64_t kernel_height;
};

namespace amx {

// Transposes a row of bf16 [32][columns] to [columns][32].
void transpose_images(const std::byte* row, std::int64_t columns, std::byte* transposed);
// A row of y. `pitch`: bytes between images of x. `low`: bytes from the high to the low parts of x
// if the images are not bf16 and blocks of B and of dy are split (split.h).
struct ImageRow {
  const std::byte *x, *weights;  // weights: blocks of B [block][kernel row][step]
  std::int64_t pitch;
  const float* bias;
  std::byte* y;
  DType dtype;
  std::int64_t low;
  bool relu;
};
// Returns how many results were not zero in f32 and became zero in f16.
std::int64_t convolve_images(const ImagePlan& plan, const ImageRow& row);
// Adds to sums [block][kernel row][step] of f32 [32 columns][32 channels]; `packed` has room for a
// row of y.
struct ImageGradient {
  const std::byte *x, *dy;
  std::byte* packed;
  float* sums;
  DType dtype;
  std::int64_t low;
};
void image_weight_gradient(const ImagePlan& plan, const ImageGradient& row);

}  // namespace amx
}  // namespace narrowgauge::cpu
