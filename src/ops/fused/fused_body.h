// SPDX-License-Identifier: Apache-2.0
// The body of a group when it is matched against a pattern: a chain of nodes, and which operands of
// the group they read and write.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The nodes that compute something (neither inputs nor constants), in their order.
std::vector<int> working_nodes(const Graph& body);

// The value's position among the group's inputs or outputs; -1: not there.
int input_index(const Graph& body, Value value);
int output_index(const Graph& body, Value value);

// The other operand of a binary node, one of which is `known`, as an input of the group; -1: none.
int other_input(const Graph& body, const Node& node, Value known);

// The memory of an input or output of a call; null for index -1.
inline void* data_at(std::span<const View> views, int index) {
  return index < 0 ? nullptr : views[static_cast<std::size_t>(index)].data;
}

// Why an operand is not an image in batch-inner blocks of these dims, or not a vector of f32; "" if
// it is. An absent operand is neither.
std::string image_reason(const Operand& operand, const Dims& dims);
std::string vector_reason(const Operand& operand);

}  // namespace narrowgauge
