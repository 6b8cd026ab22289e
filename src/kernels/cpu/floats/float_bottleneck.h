// SPDX-License-Identifier: Apache-2.0
// An inverted bottleneck of f32 with channels together, for constant weights: an expansion 1x1, a
// window for each channel, and a projection 1x1, for a band of lines at a time. What the expansion
// makes for a panel of channels stays in a cache until the windows have read it. The first
// convolution of a network may be the expansion.
#pragma once

#include <array>
#include <string>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu {

struct FloatStage {
  ConvolutionViews views;
  ConvolutionWindow window;
  FloatBounds bounds;    // of its result
  bool lasting = false;  // its weights
};

struct FloatBottleneck {
  std::array<FloatStage, 3> stages;
  bool residual = false;  // added to the projection, lies as y does
  int threads = 1;
};

// Call::inputs: x, the weights and bias of each stage, the residual.
enum FloatBottleneckInput { bottleneck_x, bottleneck_weights, bottleneck_residual = 7 };

// Why this does not take such a bottleneck, or would be slower than its convolutions apart; "" if
// neither.
std::string float_bottleneck_reason(const FloatBottleneck& bottleneck, Isa isa);

Prepared prepare_float_bottleneck(const FloatBottleneck& bottleneck);

}  // namespace narrowgauge::cpu
