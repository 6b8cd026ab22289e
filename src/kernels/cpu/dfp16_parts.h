// SPDX-License-Identifier: Apache-2.0
// The convolutions behind prepare_dfp16_convolution (dfp16.h).
#pragma once

#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

struct Dfp16Convolution {
  ConvolutionPass pass;
  ConvolutionViews views;
  ConvolutionWindow window;
  int threads;
};

// Forward and backward to the data: rows are pixels of the output.
Prepared prepare_dfp16_pixels(const Dfp16Convolution& convolution);
// Backward to the weights: sums are along pixels.
Prepared prepare_dfp16_weight_gradient(const Dfp16Convolution& convolution);

}  // namespace narrowgauge::cpu
