// SPDX-License-Identifier: Apache-2.0
// Tells models apart by a hash of a graph's structure.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// 16 hexadecimal digits over the nodes' names, ops, inputs, attributes, types and scopes of
// autocast, regions included, and over states and outputs. Leaves out what changes between runs of
// one model: the order of nodes, values of constants, attributes that are real numbers (rates,
// epsilons), all attributes of weight updates (steps of a schedule), and sizes of activations (the
// batch; ranks count). Sizes of states count.
std::string fingerprint(const Graph& graph);

// The same for the network that a graph predicts with, whatever sizes its inputs have: over inputs,
// outputs, states, and the names of the nodes, as in the model file they are from, through
// which numbers flow from inputs and states. A file of open sizes makes other nodes where these are
// known: sizes are constants then, loops have other rounds, and written-out forms are found.
std::string network_fingerprint(const Graph& graph);

// The fingerprints by which a plan may call a network.
std::vector<std::string> names_of_network(const Graph& graph);

}  // namespace narrowgauge
