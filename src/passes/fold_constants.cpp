// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_constants.h"

#include <algorithm>
#include <optional>

#include "ir/attributes.h"
#include "ops/interpret.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t most_elements = 65536;

bool is_foldable(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || is_random(node) || node.op->kernels().empty()) return false;
  if (node.op->info.stage > Stage::trained || node.math != Math::none) return false;
  for (const ValueInfo& output : node.outputs)
    if (!is_known(output.type.shape) ||
        element_count(known_dims(output.type.shape)) > most_elements)
      return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](Value value) { return value.is_absent() || graph.constant_value(value); });
}

// What a graph of this one node over constants gives; empty where it fails. It may stand in a
// branch that is never taken, so its error is left to the step that runs it.
std::optional<std::vector<Tensor>> evaluate(const Graph& graph, const Node& node) {
  Graph single("constant");
  Values inputs;
  for (const Value& value : node.inputs)
    inputs.push_back(value.is_absent() ? absent : single.constant(*graph.constant_value(value)));
  const Value made = single.add(*node.op, node.attributes, inputs);
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
    single.output(concat(o), {made.node, o});
  try {
    return interpret(single, {});
  } catch (const UsageError&) {
    return {};
  }
}

// Of the constant that takes an output's place: taken neither in the new graph nor by a node of the
// old one that is still to come.
std::string name_of(Rebuild& rebuild, int node, int output) {
  const std::string name = rebuild.source().node(node).full_name();
  if (output == 0) return name;
  const std::string further = rebuild.source().unique_name(concat(name, '.', output));
  return rebuild.graph().unique_name(further);
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    // Constants made on the way count: look at the new graph's inputs.
    const Values inputs = rebuild.mapped(node.inputs);
    Node seen = node;
    seen.inputs = inputs;
    std::optional<std::vector<Tensor>> results;
    if (is_foldable(rebuild.graph(), seen)) results = evaluate(rebuild.graph(), seen);
    if (!results) {
      rebuild.copy(i, with_regions(node, fold_constants), inputs);
      continue;
    }
    for (int o = 0; o < static_cast<int>(results->size()); ++o) {
      rebuild.map({i, o}, rebuild.graph().constant((*results)[static_cast<std::size_t>(o)],
                                                   name_of(rebuild, i, o)));
    }
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
