// SPDX-License-Identifier: Apache-2.0
#include "precision/follow.h"

#include "precision/policy.h"

namespace narrowgauge {

PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph) {
  PrecisionPlan result = make_precision_plan(
      f32_graph, {.narrow = plan.narrow, .f32_math = plan.f32_math, .policy = plan.policy});
  for (PlanEntry& entry : result.entries) {
    const PlanEntry* example = plan.find(entry.name);
    if (example && example->op == entry.op && example->dtype && entry.dtype) entry = *example;
  }
  return result;
}

}  // namespace narrowgauge
