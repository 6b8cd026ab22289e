// SPDX-License-Identifier: Apache-2.0
// How many nodes of an op a graph has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "narrowgauge/graph.h"
#include "ops/table.h"

namespace narrowgauge {

// The op by its full name, "ng.Fused". UsageError where there is none: it would be found nowhere.
inline std::int64_t count(const Graph& graph, std::string_view op) {
  require(op_table().find(op), "no op ", op);
  return std::ranges::count_if(graph.nodes(),
                               [&](const Node& node) { return node.op->full_name() == op; });
}

}  // namespace narrowgauge
