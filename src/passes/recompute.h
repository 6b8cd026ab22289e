// SPDX-License-Identifier: Apache-2.0
// Trades time for memory: values are computed again for the backward pass instead of being kept.
#pragma once

#include <functional>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Each chosen node is cloned under the next instance number, and readers that were made by
// differentiation (they have an origin) read the clone. Clones give the same bits: random numbers
// depend on the name without the instance, and merging duplicates keeps instances apart.
Graph recompute(const Graph& graph, const std::function<bool(const Node&)>& chosen);

}  // namespace narrowgauge
