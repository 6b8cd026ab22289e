// SPDX-License-Identifier: Apache-2.0
#include "passes/core/parts.h"

#include "base/enumerate.h"
#include "base/indexed_vector.h"

namespace narrowgauge {

namespace {

bool is_contraction(const Node& node) { return node.op->info.fusion == Fusion::contraction; }

Graph with_math(const Graph& region, Math math) {
  Rebuild rebuild(region);
  const auto inside = [math](const Graph& inner) { return with_math(inner, math); };
  for (const auto& [i, node] : enumerate(region.nodes())) {
    if (!is_contraction(node)) {
      rebuild.copy(i, with_regions(node, inside), rebuild.mapped(node.inputs));
      continue;
    }
    NodeOptions options = options_of(node);
    options.math = math;
    const Value made = rebuild.graph().add(*node.op, node.attributes, rebuild.mapped(node.inputs),
                                           std::move(options));
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      rebuild.map({i, o}, {made.node, made.output + o});
  }
  return rebuild.finish();
}

}  // namespace

void add_parts(Rebuild& rebuild, int index, const Graph& parts,
               const std::vector<std::size_t>& part_inputs, Math math) {
  const Node& node = rebuild.source().node(index);
  IndexedVector<int, Value> made;  // the first output of each part in the new graph
  const auto mapped = [&](Value value) {
    if (value.is_absent()) return absent;
    const Value first = made[value.node];
    return Value{first.node, first.output + value.output};
  };
  std::size_t next_input = 0;
  for (const Node& part : parts.nodes()) {
    if (part.is<Input>()) {
      made.add(rebuild.mapped(node.inputs[part_inputs[next_input++]]));
      continue;
    }
    NodeOptions options = options_of(node);
    options.storages.clear();
    const bool first = parts.outputs()[0].value.node == made.size();
    if (!first) options.name = concat(node.name, '/', part.name);
    if (options.origin.empty() && !first) options.origin = node.full_name();
    options.math = is_contraction(part) ? math : Math::none;
    Attributes attributes =
        with_regions(part, [math](const Graph& region) { return with_math(region, math); });
    Values inputs;
    for (const Value& value : part.inputs) inputs.push_back(mapped(value));
    made.add(rebuild.graph().add(*part.op, std::move(attributes), inputs, std::move(options)));
  }
  for (std::size_t o = 0; o < parts.outputs().size(); ++o)
    rebuild.map({index, static_cast<int>(o)}, mapped(parts.outputs()[o].value));
}

}  // namespace narrowgauge
