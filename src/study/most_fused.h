// SPDX-License-Identifier: Apache-2.0
// The bytes that a training step must move through memory however well it is fused: those of the
// most fused plan of a graph, whatever plan runs.
//
// In that plan the results of ops that fuse (elementwise, normalizations and other reductions,
// views, moves) are not stored: they are computed where they are read, from the stored tensors
// behind them, or in the epilogue of the contraction that makes one of these. All others are
// stored: inputs, states, results of contractions, and of ops that do not fuse. A value that fuses
// is stored after all where that moves fewer bytes: the output of a residual block, read many times
// and computed from two tensors, is; a normalized tensor, or the gradient behind a normalization,
// is not. A stored tensor is written once, and read once by each op that is not fused and needs it;
// an op that picks rows of a table reads no more than it writes.
#pragma once

#include <cstdint>
#include <set>

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct MostFused {
  std::set<Value> stored;  // results of nodes; inputs, states and constants are not counted here
  std::int64_t read = 0, written = 0;  // bytes
  std::int64_t bytes() const { return read + written; }
};

// Takes a graph with known shapes and its precision, before layout and fusion.
MostFused most_fused(const Graph& graph);

}  // namespace narrowgauge
