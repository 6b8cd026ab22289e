// SPDX-License-Identifier: Apache-2.0
#include "ir/readers.h"

namespace narrowgauge {

Readers::Readers(const Graph& graph) : nodes_(graph.nodes().size()) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    nodes_[i].resize(graph.node(static_cast<int>(i)).outputs.size());
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    for (const Value& value : graph.node(i).inputs)
      if (!value.is_absent())
        nodes_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)]
            .push_back(i);
  for (const State& state : graph.states()) leaving_.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) leaving_.insert(output.value);
}

}  // namespace narrowgauge
