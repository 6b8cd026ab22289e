// SPDX-License-Identifier: Apache-2.0
// Nodes that were added in an autocast scope of the network.
#pragma once

#include "precision/colouring/node_by_node.h"

namespace narrowgauge {

// What PyTorch's autocast makes of a node that was added in a scope (Node::autocast). Its note
// begins with the format.
FormatChoice choose_in_scope(const PrecisionVertex& vertex, const FormatsSoFar& formats);

// Decides so about all such nodes, unless an override by name did.
void honour_scopes(PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
