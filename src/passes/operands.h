// SPDX-License-Identifier: Apache-2.0
// A node of a bound graph as kernels are asked about it.
#pragma once

#include <set>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

Operand operand_of(const Graph& graph, Value value);
// Absent inputs are operands that are not present.
std::vector<Operand> input_operands(const Graph& graph, const Node& node);
// Optional outputs that are not among the values read are operands that are not present.
std::vector<Operand> output_operands(const Graph& graph, int node, const std::set<Value>& read);
// Inputs of nodes, outputs of the graph, next values of states.
std::set<Value> values_read(const Graph& graph);

}  // namespace narrowgauge
