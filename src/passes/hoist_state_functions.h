// SPDX-License-Identifier: Apache-2.0
// Computes what depends on unchanged states alone once, and not at every call.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// What a graph computes from states that it does not change, and from constants, becomes a derived
// state named after the node and a digest of its derivation, so that graphs over the same states
// share it. So does what it computes from constants alone, where that is too large for
// fold_constants. Views stay nodes, as does a single Cast, which hoist_derived_state knows, and,
// unless a contraction reads it, what holds more bytes than the states it is made from.
Graph hoist_state_functions(const Graph& graph);

}  // namespace narrowgauge
