// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/follow.h"

#include <set>
#include <string_view>

#include "base/name_index.h"
#include "precision/colouring/policy.h"
#include "precision/plans/fingerprint.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {

namespace {

// A line may name a neighbour that this graph does not have.
void forget_unknown_causes(PrecisionPlan& plan) {
  std::set<std::string_view> names;
  for (const PlanEntry& entry : plan.entries) names.insert(entry.name);
  for (PlanEntry& entry : plan.entries)
    if (!names.contains(entry.cause)) entry.cause.clear();
}

// The line about a node in the plan of another graph. That may have had fewer rounds of a loop:
// those beyond compute as the first.
const PlanEntry* example_of(const PrecisionVertex& vertex, const NameIndex<PlanEntry>& plan) {
  const PlanEntry* found = plan.find(vertex.name);
  if (found || vertex.kind == PrecisionVertex::Kind::link) return found;
  for (const FileNode& node : vertex.node->file_nodes)
    if ((found = plan.find(node.path)) || (found = plan.find(node.name))) return found;
  return nullptr;
}

}  // namespace

PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph) {
  if (plan.model == fingerprint(f32_graph)) return plan;
  PrecisionPlan result = make_precision_plan(
      f32_graph, {.narrow = plan.narrow, .f32_math = plan.f32_math, .policy = plan.policy});
  result.master_weights = plan.master_weights;
  result.rounding = plan.rounding;
  result.network = plan.network;
  const std::string state = record_of<StateValue>().full_name();
  const NameIndex examples(plan.entries);
  const std::vector<PrecisionVertex> vertices = precision_vertices(f32_graph);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    PlanEntry& entry = result.entries[v];
    const PlanEntry* example = example_of(vertices[v], examples);
    if (!example || example->op != entry.op) continue;
    if (entry.op != state && !(example->dtype && entry.dtype)) continue;
    entry = *example;
    entry.name = vertices[v].name;
  }
  forget_unknown_causes(result);
  return result;
}

}  // namespace narrowgauge
