// SPDX-License-Identifier: Apache-2.0
// Makes one node of a layer normalization and the sum before it, and one of its gradient, the sums
// before it and the dropout after it, where a kernel takes them.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph fuse_layer_norm(const Graph& graph, const Target& target);

}  // namespace narrowgauge
