// SPDX-License-Identifier: Apache-2.0
// Merges nodes that compute the same: same op, attributes, inputs, math and instance. Random ops
// are never merged, and a recomputation is not merged with what it recomputes.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph merge_duplicates(const Graph& graph);

}  // namespace narrowgauge
