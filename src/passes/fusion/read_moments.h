// SPDX-License-Identifier: Apache-2.0
// A network computed with moments of a training in the place of its parameters.
#pragma once

#include <map>
#include <string>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Whoever read a state that `moments` names reads the moment of the name beside it, which has the
// same type. `graph` must not change these states.
Graph read_moments(const Graph& graph, const std::map<std::string, std::string>& moments);

}  // namespace narrowgauge
