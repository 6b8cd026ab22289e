// SPDX-License-Identifier: Apache-2.0
// The plan that casts a whole network to the narrow format, as apex's O2 and O3 and Keras do.
#pragma once

#include "precision/colouring/node_by_node.h"

namespace narrowgauge {

// All nodes that take the narrow format compute in it. What comes after the last parameter, such as
// the loss, and the backward pass of that, stay in f32: both frameworks cast a network's outputs.
PrecisionPlan cast_whole_network(const Graph& f32_graph, const PrecisionRequest& wanted);

}  // namespace narrowgauge
