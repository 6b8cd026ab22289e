// SPDX-License-Identifier: Apache-2.0
// Values quantised with one scale for each channel, as NNCF does between depthwise convolutions and
// those before them.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Where a convolution's result is quantised with a scale for each channel and only depthwise
// convolutions read it, the scales become part of the weights and biases on both sides, and the
// value has one scale of 1: its bytes are the same, but for rounding in f32. Weights must be
// dequantised by output channel, or all alike. A Relu between stays, a Clip where saturation does
// what its upper bound does. All in f32.
Graph absorb_channel_scales(const Graph& graph);

}  // namespace narrowgauge
