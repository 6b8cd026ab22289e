// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/region.h"

#include <algorithm>
#include <memory>

#include "base/enumerate.h"
#include "passes/core/rebuild.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge::onnx {

Body body_of(NodeImport& node, std::string_view attribute, const Graph& graph,
             const TensorTypes& types) {
  require<ModelError>(graph.inputs.size() == types.size(), "its graph has ", graph.inputs.size(),
                      " inputs, ", types.size(), " are given");
  Body body;
  Scope scope(body.graph, &node.scope(), Scope::Outer::around_region);
  scope.keep_names_of(graph);
  for (const auto& [i, type] : enumerate(types)) {
    const std::string& name = graph.inputs[i].name;
    scope.set(name, Item::of(body.graph.input(body.graph.unique_name(name), type)));
  }
  const Items items = node.importer().add_graph(graph, attribute, scope);
  for (const auto& [o, item] : enumerate(items)) {
    body.tensors_only = body.tensors_only && item.kind == Item::Kind::value;
    if (item.kind == Item::Kind::value) body.graph.output(concat("out", o), item.value);
  }
  body.captures = scope.captures();
  return body;
}

Region region_of(const Body& body, std::size_t own, NodeImport& node,
                 std::span<const Value> captured) {
  Rebuild rebuild(body.graph);
  for (std::size_t i = 0; i < own; ++i) rebuild.copy(body.graph.inputs()[i].node);
  for (const Value outside : captured) {
    const auto found = std::ranges::find(body.captures, outside, &Scope::Capture::outside);
    if (found != body.captures.end()) {
      rebuild.copy(found->inside.node);
    } else {
      const std::string name =
          body.graph.unique_name(concat("unread_", outside.node, '_', outside.output));
      rebuild.graph().input(name, node.graph().type(outside));
    }
  }
  for (const auto& [i, each] : enumerate(body.graph.nodes()))
    if (!each.is<Input>()) rebuild.copy(i);
  return std::make_shared<const narrowgauge::Graph>(remove_dead_code(rebuild.finish()));
}

}  // namespace narrowgauge::onnx
