// SPDX-License-Identifier: Apache-2.0
#include "precision/follow.h"

#include "precision/plan_index.h"
#include "precision/policy.h"

namespace narrowgauge {

PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph) {
  PrecisionPlan result = make_precision_plan(
      f32_graph, {.narrow = plan.narrow, .f32_math = plan.f32_math, .policy = plan.policy});
  result.master_weights = plan.master_weights;
  result.rounding = plan.rounding;
  const std::string state = record_of<StateValue>().full_name();
  const PlanIndex examples(plan);
  for (PlanEntry& entry : result.entries) {
    const PlanEntry* example = examples.find(entry.name);
    if (!example || example->op != entry.op) continue;
    if (entry.op == state || (example->dtype && entry.dtype)) entry = *example;
  }
  return result;
}

}  // namespace narrowgauge
