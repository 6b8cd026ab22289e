// SPDX-License-Identifier: Apache-2.0
// Runs quantised graphs on bytes.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Fuses quantized ops of a graph that only predicts: Conv, Gemm and MatMul of dequantised values by
// constant dequantised weights become ng.QuantizedConv and ng.QuantizedMatMul, with the addition,
// the Relu or Clip and the QuantizeLinear behind them. So do QLinearConv and QLinearMatMul, and
// MatMulInteger and ConvInteger whose sums are scaled. What moves values moves bytes, and averages
// of windows read them (ng.QuantizedAveragePool).
Graph fuse_quantized(const Graph& graph);

}  // namespace narrowgauge
