// SPDX-License-Identifier: Apache-2.0
#include "passes/shapes/bind_shapes.h"

#include <string>

#include "ir/attributes.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// A name that no node of the source has.
std::string name_for_numbers(const Rebuild& rebuild, int index) {
  std::string name = rebuild.source().node(index).full_name() + "/numbers";
  while (rebuild.source().find_node(name) >= 0) name += '_';
  return name;
}

}  // namespace

Graph bind_shapes(const Graph& graph, const Binding& binding) {
  Rebuild rebuild(graph);
  const RegionChange bind_region = [&](const Region& region) {
    return std::make_shared<const Graph>(bind_shapes(*region, binding));
  };
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    rebuild.copy(i, bind_attributes(*node.op, node.attributes, binding, bind_region),
                 rebuild.mapped(node.inputs));
    const int made = rebuild.mapped(Value{i, 0}).node;
    for (const ValueInfo& output : rebuild.graph().node(made).outputs)
      require(is_known(output.type.shape), "graph ", graph.name(), ": node '", node.full_name(),
              "' has the shape ", output.type.shape, ", whose symbols are not all bound");
    if (!node.is<Constant>())
      if (const std::optional<Tensor> numbers = rebuild.graph().known_numbers({made, 0}))
        rebuild.map({i, 0}, rebuild.graph().constant(*numbers, name_for_numbers(rebuild, i)));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
