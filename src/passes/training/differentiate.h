// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation, graph to graph; computes only what is asked for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Appends to `graph` the gradients of sum_i <outputs[i], seeds[i]> with respect to
// `with_respect_to`; a seed has its output's type. Absent where no gradient flows. New nodes are
// named "<node>.gradient/..." and have that node as origin. Throws UsageError naming an op in
// between that has no gradient.
Values append_gradients(Graph& graph, std::span<const Value> outputs, std::span<const Value> seeds,
                        std::span<const Value> with_respect_to);

// Why no gradient of `output` arrives at `wanted`.
struct Blocked {
  bool reaches = false;  // whether `output` is computed from `wanted` at all
  // The first node that takes what is computed from `wanted` through a port without gradient; -1:
  // only steps do, such as Floor, whose derivative is 0 almost everywhere.
  int node = -1;
};
Blocked why_blocked(const Graph& graph, Value output, Value wanted);

// The graph with one more input "gradient" (of the type of its first output) and one more output
// "gradient/<input>" for each floating input: for tests and for regions. Zeros where no gradient
// flows.
Graph differentiate(const Graph& graph);

// The backward graph of a region; see Gradient::differentiate in op.h.
Region differentiate_region(const Region& body, std::span<const int> outputs,
                            std::span<const int> inputs);

}  // namespace narrowgauge
