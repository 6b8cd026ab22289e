// SPDX-License-Identifier: Apache-2.0
// What an op infers from: the types of values in a graph, and their numbers where these are known.
#pragma once

#include <optional>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

using InputTypes = std::vector<std::optional<TensorType>>;  // nothing for an absent input
InputTypes types_of(const Graph& graph, const Values& inputs);

// Refers to constants and numbers of the graph. `types`: of the inputs, in place of those that they
// have there.
Inference inference_of(const Graph& graph, const OpRecord& op, const Values& inputs,
                       InputTypes types);
Inference inference_of(const Graph& graph, const OpRecord& op, const Values& inputs);

}  // namespace narrowgauge
