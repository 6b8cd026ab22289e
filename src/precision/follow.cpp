// SPDX-License-Identifier: Apache-2.0
#include "precision/follow.h"

#include <set>
#include <string_view>

#include "base/name_index.h"
#include "precision/fingerprint.h"
#include "precision/policy.h"

namespace narrowgauge {

namespace {

// A line may name a neighbour that this graph does not have.
void forget_unknown_causes(PrecisionPlan& plan) {
  std::set<std::string_view> names;
  for (const PlanEntry& entry : plan.entries) names.insert(entry.name);
  for (PlanEntry& entry : plan.entries)
    if (!names.contains(entry.cause)) entry.cause.clear();
}

}  // namespace

PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph) {
  if (plan.model == fingerprint(f32_graph)) return plan;
  PrecisionPlan result = make_precision_plan(
      f32_graph, {.narrow = plan.narrow, .f32_math = plan.f32_math, .policy = plan.policy});
  result.master_weights = plan.master_weights;
  result.rounding = plan.rounding;
  const std::string state = record_of<StateValue>().full_name();
  const NameIndex examples(plan.entries);
  for (PlanEntry& entry : result.entries) {
    const PlanEntry* example = examples.find(entry.name);
    if (!example || example->op != entry.op) continue;
    if (entry.op == state || (example->dtype && entry.dtype)) entry = *example;
  }
  forget_unknown_causes(result);
  return result;
}

}  // namespace narrowgauge
