// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/remove_dead_code.h"

#include "base/indexed_vector.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

Graph remove_dead_code(const Graph& graph) {
  IndexedVector<int, bool> live(graph.nodes().size());
  const auto mark = [&](Value value) { live[value.node] = true; };
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  for (const State& state : graph.states())
    if (state.next != state.current) mark(state.next);
  for (int i = live.size() - 1; i >= 0; --i) {
    const Node& node = graph.node(i);
    if (node.is<Input>()) live[i] = true;
    if (!live[i]) continue;
    for (const Value& value : node.inputs)
      if (!value.is_absent()) mark(value);
  }
  // A state that is written must exist.
  for (const State& state : graph.states())
    if (live[state.next.node]) mark(state.current);
  Rebuild rebuild(graph);
  for (int i = 0; i < live.size(); ++i)
    if (live[i])
      rebuild.copy(i, with_regions(graph.node(i), remove_dead_code),
                   rebuild.mapped(graph.node(i).inputs));
  return rebuild.finish();
}

}  // namespace narrowgauge
