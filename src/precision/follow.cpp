// SPDX-License-Identifier: Apache-2.0
#include "precision/follow.h"

#include "precision/lists.h"

namespace narrowgauge {

PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph) {
  PrecisionPlan result =
      plan.narrow == DType::f32
          ? f32_plan(f32_graph, plan.f32_math)
          : colour_by_lists(f32_graph, {.request = {plan.narrow, plan.f32_math, {}}});
  for (PlanEntry& entry : result.entries) {
    const PlanEntry* example = plan.find(entry.name);
    if (example && example->op == entry.op && example->dtype && entry.dtype) entry = *example;
  }
  return result;
}

}  // namespace narrowgauge
