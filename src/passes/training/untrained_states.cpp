// SPDX-License-Identifier: Apache-2.0
#include "passes/training/untrained_states.h"

#include <algorithm>
#include <functional>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// Whether training could want a gradient through the port. What an op without any gradient makes
// of floating values counts too, so that training names it instead of passing it by.
bool may_train_through(const Node& node, int port) {
  if (node.op->input_port(port).differentiable) return true;
  const bool has_gradient = node.op->gradient || node.op->decompose;
  return !has_gradient && !node.op->info.random &&
         std::ranges::any_of(
             node.outputs, [](const ValueInfo& output) { return is_floating(output.type.dtype); });
}

// The nodes from which an output is reached through such ports.
IndexedVector<int, bool> nodes_that_train(const Graph& graph) {
  const int count = static_cast<int>(graph.nodes().size());
  IndexedVector<int, bool> reached(count);
  for (const GraphOutput& output : graph.outputs()) reached[output.value.node] = true;
  for (int i = count - 1; i >= 0; --i) {
    if (!reached[i]) continue;
    const Node& node = graph.node(i);
    for (const auto& [port, input] : enumerate(node.inputs))
      if (!input.is_absent() && may_train_through(node, static_cast<int>(port)) &&
          is_floating(graph.type(input).dtype))
        reached[input.node] = true;
  }
  return reached;
}

}  // namespace

namespace {

Graph with_roles(const Graph& source, const std::function<Role(const State&, int node)>& role_of) {
  Rebuild rebuild(source);
  for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
    if (!source.node(i).is<StateValue>()) {
      rebuild.copy(i);
      continue;
    }
    State state = *source.find_state(source.node(i).name);
    state.role = role_of(state, i);
    rebuild.map({i, 0}, rebuild.graph().state(std::move(state)));
  }
  return rebuild.finish();
}

}  // namespace

Graph with_untrained_states(const Graph& source) {
  const IndexedVector<int, bool> trains = nodes_that_train(source);
  return with_roles(source, [&](const State& state, int node) {
    return state.role == Role::parameter && !trains[node] ? Role::statistic : state.role;
  });
}

Graph with_roles_of(const Graph& other, const Graph& graph) {
  return with_roles(graph, [&](const State& state, int) {
    const State* const there = other.find_state(state.name);
    return there ? there->role : state.role;
  });
}

}  // namespace narrowgauge
