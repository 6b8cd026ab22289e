// SPDX-License-Identifier: Apache-2.0
// Elementwise ops with one input, and QuantizeLinear, go before the Reshape that stands between a
// contraction and them, so that they can be fused with it. Only in graphs that do nothing but
// predict.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph reshape_last(const Graph& graph);

}  // namespace narrowgauge
