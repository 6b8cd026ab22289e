// SPDX-License-Identifier: Apache-2.0
// Ops that are computed by the simpler ops they decompose into.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// One kernel, "decomposed", for ops with decompose(): runs what it adds, op by op.
std::span<const Kernel> composite_kernels();

// Whether nothing else computes it.
bool is_composite(const OpRecord& op);
bool is_composite(const Node& node);

// What decompose() makes of a node, as a graph with the node's outputs.
struct Parts {
  Graph graph{"parts"};
  std::vector<std::size_t> inputs;  // of the node, one for each of the graph
};

// An input of the node: nothing where it is absent. A constant, nullptr where the value is not
// known, becomes a constant of the graph.
struct PartInput {
  std::optional<TensorType> type;
  const Tensor* constant = nullptr;
};
Parts parts_of(const OpRecord& op, const Attributes& attributes,
               const std::vector<PartInput>& inputs);

}  // namespace narrowgauge
