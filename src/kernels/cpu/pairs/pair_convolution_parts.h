// SPDX-License-Identifier: Apache-2.0
// The convolutions behind prepare_pair_convolution (pair_products.h).
#pragma once

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/pairs/pair_unit.h"

namespace narrowgauge::cpu {

struct PairConvolution {
  const PairUnit& unit;
  ConvolutionPass pass;
  ConvolutionViews views;
  ConvolutionWindow window;
  int threads;
};

// Forward pass and data gradient, whose rows are pixels of the output.
Prepared prepare_pair_pixels(const PairConvolution& convolution);
// Weight gradient, whose sums run along pixels.
Prepared prepare_pair_weight_gradient(const PairConvolution& convolution);

}  // namespace narrowgauge::cpu
