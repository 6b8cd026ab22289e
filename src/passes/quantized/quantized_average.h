// SPDX-License-Identifier: Apache-2.0
// Lets averages of windows read bytes.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// AveragePool, GlobalAveragePool and ReduceMean over the spatial axes of dequantised values become
// ng.QuantizedAveragePool, with the QuantizeLinear behind them where nobody else reads them. For
// the pass fuse_quantized.
Graph fuse_averages(const Graph& graph);

}  // namespace narrowgauge
