// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose.h"

#include "ops/control/composite.h"
#include "passes/parts.h"

namespace narrowgauge {

namespace {

Parts parts_of_node(const Graph& graph, const Node& node) {
  std::vector<PartInput> inputs;
  for (const Value& value : node.inputs) {
    inputs.emplace_back();
    if (value.is_absent()) continue;
    inputs.back() = {graph.type(value), graph.constant_value(value)};
  }
  return parts_of(*node.op, node.attributes, inputs);
}

}  // namespace

Graph decompose(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_composite(node)) {
      const Parts parts = parts_of_node(graph, node);
      add_parts(rebuild, i, parts.graph, parts.inputs, node.math);
    } else {
      rebuild.copy(i, with_regions(node, decompose), rebuild.mapped(node.inputs));
    }
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
