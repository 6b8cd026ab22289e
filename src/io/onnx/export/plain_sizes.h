// SPDX-License-Identifier: Apache-2.0
// Reshape and Expand with their sizes as ONNX wants them: as values of the graph.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// Puts ops of ONNX in the place of ng.ReshapeTo and ng.ExpandTo, whose shape is an attribute that
// may hold symbols. Where ONNX cannot leave such a size open, it is read from a value that has it;
// throws ModelError naming the node where there is none.
narrowgauge::Graph with_plain_sizes(const narrowgauge::Graph& graph);

}  // namespace narrowgauge::onnx
