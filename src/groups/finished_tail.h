// SPDX-License-Identifier: Apache-2.0
// What groups share in which elementwise ops run over the parts of one node's result.
#pragma once

#include <array>
#include <string>

#include "narrowgauge/graph.h"
#include "ops/elementwise/strip_program.h"

namespace narrowgauge {

// The inputs of the group that such a node reads, by its ports; -1: none, -2: a constant.
using OwnPorts = std::array<int, 3>;
OwnPorts own_ports(const Graph& body, const Node& node);

// Why the group is none that runs part by part; "" if it may be.
std::string finished_form_reason(const Request& request, const OwnPorts& ports);

// Whether a node of the body other than this one reads the value.
bool is_read_beside(const Graph& body, int node, Value value);

// The elementwise ops, whose last input is the node's result, in the place of their own.
StripParts tail_of(const Request& request, const Graph& body, int node);

}  // namespace narrowgauge
