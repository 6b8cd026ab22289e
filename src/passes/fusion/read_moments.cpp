// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/read_moments.h"

#include "passes/core/rebuild.h"

namespace narrowgauge {

Graph read_moments(const Graph& source, const std::map<std::string, std::string>& moments) {
  Rebuild rebuild(source);
  for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
    const Node& node = source.node(i);
    const auto moment = node.is<StateValue>() ? moments.find(node.name) : moments.end();
    if (moment == moments.end()) {
      rebuild.copy(i);
      continue;
    }
    State state = *source.find_state(node.name);
    require(state.next.is_absent() || state.next == state.current, "graph '", source.name(),
            "': changes '", state.name, "', which cannot be read from a moment");
    state.name = moment->second;
    state.role = Role::moment;
    state.next = absent;
    rebuild.map({i, 0}, rebuild.graph().state(std::move(state)));
  }
  for (const State& state : source.states())
    if (!moments.contains(state.name))
      rebuild.graph().set_next(state.name, rebuild.mapped(state.next));
  for (const GraphOutput& output : source.outputs())
    rebuild.graph().output(output.name, rebuild.mapped(output.value));
  return std::move(rebuild.graph());
}

}  // namespace narrowgauge
