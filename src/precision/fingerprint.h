// SPDX-License-Identifier: Apache-2.0
// Tells models apart by a hash of a graph's structure.
#pragma once

#include <string>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// 16 hexadecimal digits over the nodes' names, ops, inputs, attributes, types and scopes of
// autocast, regions included, and over states and outputs. Leaves out what changes between runs of
// one model: the order of nodes, values of constants, attributes that are real numbers (rates,
// epsilons), all attributes of weight updates (steps of a schedule), and sizes of activations (the
// batch; ranks count). Sizes of states count.
std::string fingerprint(const Graph& graph);

}  // namespace narrowgauge
