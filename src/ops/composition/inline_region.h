// SPDX-License-Identifier: Apache-2.0
// A region as part of another graph.
#pragma once

#include <map>
#include <string>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Copies the nodes of a region into `graph` on the given inputs; returns its outputs. Without a
// prefix nodes keep their names where these are free, and with them their random numbers. Values of
// the region that are `known` stand for themselves in the graph: what computes them is not copied.
Values inline_region(Graph& graph, const Graph& region, const Values& inputs,
                     const std::string& prefix = "", const std::map<Value, Value>& known = {});

}  // namespace narrowgauge
