// SPDX-License-Identifier: Apache-2.0
// Trades time for memory: computes values again for the backward pass instead of keeping them.
#pragma once

#include <functional>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Clones each chosen forward node under the next instance number; nodes of other phases read the
// clone. Clones give the same bits: random numbers depend on the name without the instance, and
// merging duplicates keeps instances apart.
Graph recompute(const Graph& graph, const std::function<bool(const Node&)>& chosen);

}  // namespace narrowgauge
