// SPDX-License-Identifier: Apache-2.0
// Chooses which results of the forward pass the backward pass computes again, so that the values of
// a plan fit into less memory.
#pragma once

#include "compile/compile.h"

namespace narrowgauge {

// The names of nodes for CompileOptions::recompute; `graph` has been through the pipeline. Takes
// cheap nodes alone, those that save most bytes for an operation first, and only as many as it
// takes until no more than `most_bytes` of values are alive at once, or until no other node lowers
// that.
std::vector<std::string> choose_recomputed(const Graph& graph, const CompileOptions& options,
                                           std::int64_t most_bytes);

// What a graph computes again; without saved_bytes, which it does not show.
Recomputation recomputation_of(const Graph& graph);

}  // namespace narrowgauge
