// SPDX-License-Identifier: Apache-2.0
// Puts the parts of a node in its place.
#pragma once

#include <vector>

#include "passes/core/rebuild.h"

namespace narrowgauge {

// Adds the nodes of `parts`, a graph with the outputs of the node, whose inputs are the node's
// `inputs`. Contractions among them, and in their regions, get `math`. The part that computes the
// first output gets the node's own name.
void add_parts(Rebuild& rebuild, int node, const Graph& parts,
               const std::vector<std::size_t>& inputs, Math math);

}  // namespace narrowgauge
