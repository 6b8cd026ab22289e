// SPDX-License-Identifier: Apache-2.0
// Joins neighbouring elementwise ops of one shape into groups that run in one pass over memory.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Fuses after layout, for bound shapes. A group is made only where a kernel of ng.Fused offers to
// take it; the result of joining ops is that of running them one by one without rounding in
// between, but where the graph itself casts down. Also in the regions of control flow whose shapes
// are known.
Graph fuse_elementwise(const Graph& graph, const Target& target);

}  // namespace narrowgauge
