// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/drop_identities.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ops/pointwise/cast.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

Graph without_identities(const Graph& graph, const std::function<bool(Value)>& stays,
                         Graph (*in_regions)(const Graph&)) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (node.is<Identity>() && !stays({i, 0}))
      rebuild.map({i, 0}, rebuild.mapped(node.input(0)));
    else
      rebuild.copy(i, with_regions(node, in_regions), rebuild.mapped(node.inputs));
  }
  return rebuild.finish();
}

}  // namespace

Graph drop_identities(const Graph& graph) {
  std::set<Value> next;
  for (const State& state : graph.states()) next.insert(state.next);
  const auto stays = [&](Value value) {
    return next.contains(value) || is_source(graph.producer(graph.producer(value).input(0)));
  };
  return without_identities(graph, stays, drop_identities);
}

Graph keep_identities_of_outputs(const Graph& graph) {
  const auto stays = [&](Value value) {
    return std::ranges::find(graph.outputs(), value, &GraphOutput::value) != graph.outputs().end();
  };
  return without_identities(graph, stays, keep_identities_of_outputs);
}

}  // namespace narrowgauge
