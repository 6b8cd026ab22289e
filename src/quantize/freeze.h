// SPDX-License-Identifier: Apache-2.0
// A network for inference alone: its weights are constants.
#pragma once

#include <functional>
#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// The graph with constants in place of its states, which it must not change. `value_of` gives the
// value of a state by its name.
Graph freeze(const Graph& graph, const std::function<Tensor(std::string_view)>& value_of);

// The graph with constants in the formats to which it casts them.
Graph with_narrow_constants(const Graph& graph);

// Whether a graph says itself where its numbers are bytes.
bool is_quantized(const Graph& graph);
// A quantized graph with bytes in place of the constants that it quantizes.
Graph with_byte_constants(const Graph& graph);
// A quantized graph without the rounding of values that it computes; constants stay bytes.
Graph without_rounding(const Graph& graph);

}  // namespace narrowgauge
