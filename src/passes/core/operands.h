// SPDX-License-Identifier: Apache-2.0
// Describes a node of a bound graph in the form in which kernels are asked about it.
#pragma once

#include <set>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Whether a node gives the elements of its first input as they lie, under another shape.
bool is_view(const Node& node);
// The value itself, or the one that it is a view of.
Value viewed(const Graph& graph, Value value);
// Constants, the states, counters aside, of a graph that only computes forward, and views of them:
// where there are gradients, somebody sets the weights for every run.
bool is_lasting(const Graph& graph, Value value);

Operand operand_of(const Graph& graph, Value value);
// The operands of a node's inputs; absent inputs are operands that are not present.
std::vector<Operand> input_operands(const Graph& graph, const Node& node);
// Whether an output of a node is computed: those that are no optional ones always are.
bool is_computed(const Graph& graph, Value output, const std::set<Value>& read);
// The operands of a node's outputs; those that are not computed are not present.
std::vector<Operand> output_operands(const Graph& graph, int node, const std::set<Value>& read);
// All values that are inputs of nodes, outputs of the graph or next values of states.
std::set<Value> values_read(const Graph& graph);
// Multiplications and additions of a contraction, also one in a fused group, for these sizes; 0 for
// other nodes.
double flops_of(const Graph& graph, const Node& node, const Binding& binding = {});

}  // namespace narrowgauge
