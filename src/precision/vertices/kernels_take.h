// SPDX-License-Identifier: Apache-2.0
// Whether ops of a program, which may have kernels for f32 alone, compute in other formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// A node with the types that a plan would give it; inputs that it lacks have none.
struct PlannedTypes {
  std::vector<std::optional<TensorType>> inputs;
  TensorTypes outputs;
  Math math = Math::none;
};

// What the kernels of a node say where none of them takes these types: "mine: only f32". "" where
// one does, for built-in ops, whose reference takes all that their inference accepts, and for ops
// that others compute.
std::string why_no_kernel(const Graph& graph, const Node& node, const PlannedTypes& types);

}  // namespace narrowgauge
