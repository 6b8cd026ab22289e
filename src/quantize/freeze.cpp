// SPDX-License-Identifier: Apache-2.0
#include "quantize/freeze.h"

#include "ops/math/cast.h"
#include "passes/rebuild.h"
#include "passes/remove_dead_code.h"

namespace narrowgauge {

Graph freeze(const Graph& graph, const std::function<Tensor(std::string_view)>& value_of) {
  for (const State& state : graph.states())
    require(state.next == state.current, "graph ", graph.name(), ": state '", state.name,
            "' changes, a frozen network has none that do");
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (node.is<StateValue>())
      rebuild.map({i, 0}, rebuild.graph().constant(value_of(node.name), node.name));
    else
      rebuild.copy(i);
  }
  Graph frozen = std::move(rebuild.graph());
  for (const GraphOutput& output : graph.outputs())
    frozen.output(output.name, rebuild.mapped(output.value));
  return frozen;
}

Graph with_narrow_constants(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const Tensor* const constant = node.is<Cast>() ? graph.constant_value(node.input(0)) : nullptr;
    if (constant)
      rebuild.map({i, 0},
                  rebuild.graph().constant(constant->cast(node.as<Cast>().to), node.full_name()));
    else
      rebuild.copy(i);
  }
  return remove_dead_code(rebuild.finish());
}

}  // namespace narrowgauge
