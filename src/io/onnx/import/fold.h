// SPDX-License-Identifier: Apache-2.0
// Computes nodes while a model is imported, so that later nodes can ask for their values.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// The outputs of the node just added, or constants in their place where they are known: whole
// numbers that the node's op tells, and results of constants alone, unless they are large or random
// and not `everything` is wanted.
Values folded(narrowgauge::Graph& graph, int node, bool everything);

}  // namespace narrowgauge::onnx
