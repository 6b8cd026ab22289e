// SPDX-License-Identifier: Apache-2.0
#include "passes/untrained_states.h"

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

// The nodes from which an output is reached through differentiable ports.
IndexedVector<int, bool> nodes_that_train(const Graph& graph) {
  const int count = static_cast<int>(graph.nodes().size());
  IndexedVector<int, bool> reached(count);
  for (const GraphOutput& output : graph.outputs()) reached[output.value.node] = true;
  for (int i = count - 1; i >= 0; --i) {
    if (!reached[i]) continue;
    const Node& node = graph.node(i);
    for (const auto& [port, input] : enumerate(node.inputs))
      if (!input.is_absent() && node.op->input_port(port).differentiable &&
          is_floating(graph.type(input).dtype))
        reached[input.node] = true;
  }
  return reached;
}

}  // namespace

Graph with_untrained_states(const Graph& source) {
  const IndexedVector<int, bool> trains = nodes_that_train(source);
  Rebuild rebuild(source);
  for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
    const State* const state = source.find_state(source.node(i).name);
    if (!source.node(i).is<StateValue>() || trains[i] || state->role != Role::parameter) {
      rebuild.copy(i);
      continue;
    }
    State untrained = *state;
    untrained.role = Role::statistic;
    rebuild.map({i, 0}, rebuild.graph().state(std::move(untrained)));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
