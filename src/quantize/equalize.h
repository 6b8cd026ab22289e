// SPDX-License-Identifier: Apache-2.0
// Weights whose channels have equal ranges, so that one scale for all of them loses little:
// cross-layer equalisation (Nagel et al., Data-Free Quantization Through Weight Equalization and
// Bias Correction, 2019, section 4.1).
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct EqualizeOptions {
  // A Clip from 0 to some number between two convolutions becomes a Relu, which changes results.
  bool clip_as_relu = false;
};

// Where a convolution alone reads another one, or the Relu that alone reads it, each channel
// between them is divided by a factor in the weights and the bias of the first and multiplied by it
// in the weights of the second. Factors are such that the largest weights of a channel agree, and
// are found for all pairs, one after the other, until none changes. In f32, where weights and bias
// are constants. Channels without weights, or nearly so, stay as they are: their bias would grow
// out of all bounds.
Graph equalize(const Graph& graph, const EqualizeOptions& options = {});

}  // namespace narrowgauge
