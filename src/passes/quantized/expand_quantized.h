// SPDX-License-Identifier: Apache-2.0
// Says ops on quantised values by those that dequantise, compute and quantise.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Makes QLinearConv and QLinearMatMul with constant weights DequantizeLinear, Conv or MatMul, and
// QuantizeLinear, which fuse_quantized then joins with what stands around them.
Graph expand_quantized(const Graph& graph);

}  // namespace narrowgauge
