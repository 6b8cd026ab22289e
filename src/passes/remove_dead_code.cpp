// SPDX-License-Identifier: Apache-2.0
#include "passes/remove_dead_code.h"

#include "passes/rebuild.h"

namespace narrowgauge {

Graph remove_dead_code(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size());
  const auto mark = [&](Value value) { live[static_cast<std::size_t>(value.node)] = true; };
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  for (const State& state : graph.states())
    if (state.next != state.current) mark(state.next);
  for (int i = static_cast<int>(live.size()) - 1; i >= 0; --i) {
    const Node& node = graph.node(i);
    if (node.is<Input>()) live[static_cast<std::size_t>(i)] = true;
    if (!live[static_cast<std::size_t>(i)]) continue;
    for (const Value& value : node.inputs)
      if (!value.is_absent()) mark(value);
  }
  // A state that is written must exist.
  for (const State& state : graph.states())
    if (live[static_cast<std::size_t>(state.next.node)]) mark(state.current);
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(live.size()); ++i)
    if (live[static_cast<std::size_t>(i)])
      rebuild.copy(i, with_regions(graph.node(i), remove_dead_code),
                   rebuild.mapped(graph.node(i).inputs));
  return rebuild.finish();
}

}  // namespace narrowgauge
