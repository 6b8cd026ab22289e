// SPDX-License-Identifier: Apache-2.0
#include "ir/readers.h"

#include "base/enumerate.h"

namespace narrowgauge {

Readers::Readers(const Graph& graph) : nodes_(graph) {
  for (const auto& [i, node] : enumerate(graph.nodes()))
    for (const Value& value : node.inputs)
      if (!value.is_absent()) nodes_[value].push_back(i);
  for (const State& state : graph.states()) leaving_.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) leaving_.insert(output.value);
}

}  // namespace narrowgauge
