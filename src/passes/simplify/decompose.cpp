// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/decompose.h"

#include <algorithm>

#include "ops/composition/composite.h"
#include "ops/table.h"
#include "passes/core/parts.h"

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

// An op of the program may decompose into something else than it infers.
void require_outputs_of(const Parts& parts, const Node& node) {
  const std::vector<GraphOutput>& made = parts.graph.outputs();
  require(made.size() == node.outputs.size(), "node '", node.full_name(), "': decompose() of ",
          node.op->full_name(), " gives ", made.size(), " values for ", node.outputs.size(),
          " outputs");
  for (std::size_t o = 0; o < made.size(); ++o) {
    const TensorType& type = parts.graph.type(made[o].value);
    require(type == node.outputs[o].type, "node '", node.full_name(), "': decompose() of ",
            node.op->full_name(), " gives ", type, " as output ", o, ", which is ",
            node.outputs[o].type);
  }
}

// An op of the forward pass without a gradient of its own: the backward pass computes its parts,
// and one computation of them serves both.
bool shares_parts(const Node& node) {
  return node.phase == Phase::forward && node.op->decompose && !node.op->gradient;
}

bool has_gradients(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return node.phase == Phase::backward; });
}

}  // namespace

Graph decompose(const Graph& graph) {
  const bool trains = has_gradients(graph);
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_composite(node) || (trains && shares_parts(node))) {
      const Parts parts = parts_of_node(graph, node);
      if (!is_built_in(*node.op)) require_outputs_of(parts, node);
      add_parts(rebuild, i, parts.graph, parts.inputs, node.math);
    } else {
      rebuild.copy(i, with_regions(node, decompose), rebuild.mapped(node.inputs));
    }
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
