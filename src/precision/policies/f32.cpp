// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/policy.h"
#include "precision/plans/fingerprint.h"
#include "precision/plans/overrides.h"
#include "precision/plans/plan_text.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {
namespace {

PrecisionPlan all_in_f32(const Graph& f32_graph, const PrecisionRequest& wanted) {
  require(!wanted.is_mixed(), "precision: policy f32 makes nothing narrow, and ", wanted.narrow,
          " was asked for");
  require(is_f32_math(wanted.f32_math), "precision: contractions in f32 are ", f32_math_words,
          ", got ", wanted.f32_math);
  PrecisionPlan plan;
  plan.model = fingerprint(f32_graph);
  plan.model_name = f32_graph.name();
  plan.narrow = DType::f32;
  plan.policy = "f32";
  plan.f32_math = wanted.f32_math;
  const std::vector<PrecisionVertex> vertices = precision_vertices(f32_graph);
  const MatchedOverrides overrides(wanted, vertices);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const PrecisionVertex& vertex = vertices[v];
    const Override* const rule = overrides.of(v);
    require(!rule || !rule->dtype || rule->dtype == DType::f32, "precision: override '",
            rule ? rule->text : "", "': nothing is narrow, f32 was asked for");
    PlanEntry entry;
    entry.name = vertex.name;
    entry.op = vertex.node->op->full_name();
    const auto nothing = nothing_to_choose(vertex);
    entry.rule = nothing.value_or(PrecisionRule::not_requested);
    if (!nothing) entry.dtype = DType::f32;
    entry.math = math_contract(vertex, entry.dtype, wanted.f32_math);
    plan.entries.push_back(std::move(entry));
  }
  return plan;
}

}  // namespace
}  // namespace narrowgauge

NG_POLICY(f32, "f32", "nothing is narrow", all_in_f32)
