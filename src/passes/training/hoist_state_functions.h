// SPDX-License-Identifier: Apache-2.0
// Computes what depends on unchanged states alone once, and not at every call.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// What a graph computes from states that it does not change, and from constants, becomes a derived
// state named after the node and a digest of its derivation, so that graphs over the same states
// share it; where that is a function of derived states, their derivations are parts of its own. So
// does what it computes from constants alone, where these or the result are too large for
// fold_constants. Views stay nodes, through which kernels see what lasts, as does a Cast that
// hoist_derived_state knows. What holds more bytes than the states and large constants it is made
// from stays a node too, unless a contraction reads it, which keeps it packed: to read it from
// memory would take as long as to make it from less.
Graph hoist_state_functions(const Graph& graph);

}  // namespace narrowgauge
