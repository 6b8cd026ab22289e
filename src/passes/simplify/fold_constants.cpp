// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/fold_constants.h"

#include <algorithm>
#include <optional>

#include "base/enumerate.h"
#include "ir/attributes.h"
#include "ops/composition/interpret.h"
#include "passes/core/rebuild.h"

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

// The results of this one node over constants; nothing if it fails. The node may be in a branch
// that is never taken, so its error is left to the step that runs it.
std::optional<std::vector<Tensor>> evaluate(const Graph& graph, const Node& node) {
  try {
    return interpret_node(graph, node);
  } catch (const UsageError&) {
    return {};
  }
}

std::string name_of(Rebuild& rebuild, int node, int output) {
  const std::string name = rebuild.source().node(node).full_name();
  return output == 0 ? name : rebuild.graph().unique_name(concat(name, '.', output));
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    // Looks at the new graph's inputs, so that constants made on the way count.
    const Values inputs = rebuild.mapped(node.inputs);
    Node seen = node;
    seen.inputs = inputs;
    std::optional<std::vector<Tensor>> results;
    if (is_foldable(rebuild.graph(), seen)) results = evaluate(rebuild.graph(), seen);
    if (!results) {
      rebuild.copy(i, with_regions(node, fold_constants), inputs);
      continue;
    }
    for (const auto& [o, result] : enumerate(*results))
      rebuild.map({i, o}, rebuild.graph().constant(result, name_of(rebuild, i, o)));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
