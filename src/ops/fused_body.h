// SPDX-License-Identifier: Apache-2.0
// The body of a group as a pattern is looked for in it: a chain of nodes, and which operands of the
// group they read and write.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Nodes that compute something, neither inputs nor constants, in their order.
std::vector<int> working_nodes(const Graph& body);

// The place among the group's inputs or outputs; -1: not there.
int input_index(const Graph& body, Value value);
int output_index(const Graph& body, Value value);

// The other operand of a node of two, of which one is `known`, as input of the group; -1: no such.
int other_input(const Graph& body, const Node& node, Value known);

// The memory of an input or output of a call; null for index -1.
inline void* data_at(std::span<const View> views, int index) {
  return index < 0 ? nullptr : views[static_cast<std::size_t>(index)].data;
}

// Why operands are no images in batch-inner blocks of these dims, or no vectors of f32; "" when
// they are. What is absent is neither.
std::string image_reason(const Operand& operand, const Dims& dims);
std::string vector_reason(const Operand& operand);

}  // namespace narrowgauge
