// SPDX-License-Identifier: Apache-2.0
// Puts a convolution, or a normalization of groups of channels, into one group with the elementwise
// ops behind it.
#pragma once

#include "narrowgauge/graph.h"
#include "narrowgauge/target.h"

namespace narrowgauge {

// A group is such a node whose result nobody else reads, and the elementwise ops behind it as far
// as one value leaves them: the sum with a residual, an activation. Groups that no kernel of the
// target takes stay nodes.
Graph fuse_tails(const Graph& graph, const Target& target);

}  // namespace narrowgauge
