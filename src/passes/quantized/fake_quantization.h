// SPDX-License-Identifier: Apache-2.0
// Quantised networks in training: gradients pass through what a file says by QuantizeLinear and
// DequantizeLinear.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Puts FakeQuantize in the place of each DequantizeLinear that undoes a QuantizeLinear to 8 bits of
// an f32 value with the same scale and zero point.
Graph with_fake_quantization(const Graph& graph);

}  // namespace narrowgauge
