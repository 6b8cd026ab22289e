// SPDX-License-Identifier: Apache-2.0
// A convolution with the epilogues of inference: y = min(high, max(low, x * w + bias + residual)),
// or gelu(x * w + bias), in f32 and rounded once when it is stored.
#pragma once

#include <limits>
#include <optional>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// The places of Call::inputs; those that are not given are null.
enum BoundedInput : int { bounded_x, bounded_w, bounded_bias, bounded_residual };

struct BoundedConvolution {
  ConvolutionViews views;
  ConvolutionWindow window;
  std::optional<View> residual = {};  // of the shape of y
  // NaN stays, and `high` wins where low > high.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  bool gelu = false;              // without a residual and bounds
  int threads = 0;                // that run() may use; 0: thread_count()
  std::vector<int> lasting = {};  // the constants among Call::inputs
};

}  // namespace narrowgauge::cpu
