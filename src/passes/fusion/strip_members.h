// SPDX-License-Identifier: Apache-2.0
// Which nodes may be members of a group that runs strip by strip.
#pragma once

#include <cstddef>

#include "narrowgauge/graph.h"

namespace narrowgauge {

inline constexpr std::size_t most_strip_members = 24;

bool runs_in_strips(const Graph& graph, const Node& node);

// Whether the node is a DequantizeLinear of bytes, or a QuantizeLinear to bytes, with one scale
// that is known. These run in strips too.
bool dequantizes_in_strips(const Graph& graph, const Node& node);
bool quantizes_in_strips(const Graph& graph, const Node& node);

// Whether two values have their elements in the same order.
bool same_place(const ValueInfo& a, const ValueInfo& b);

}  // namespace narrowgauge
