// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/policy.h"

#include <algorithm>
#include <map>

#include "precision/colouring/autocast.h"
#include "precision/plans/parameters.h"

namespace narrowgauge {

namespace {

// "conv1 (Conv): its op ...; fc (Gemm): ...", at most five; or a list of the ops there are.
std::string why_nothing(const PrecisionPlan& plan) {
  std::string allow_ops;
  std::map<std::string, std::pair<int, std::string_view>> others;
  int listed = 0;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.precision == PrecisionClass::allow) {
      if (++listed <= 5)
        allow_ops +=
            concat(listed == 1 ? "" : "; ", entry.name, " (", entry.op, "): ", text(entry.rule));
      continue;
    }
    if (entry.rule == PrecisionRule::source || entry.rule == PrecisionRule::region) continue;
    auto& [count, precision] = others[entry.op];
    ++count;
    precision = name(entry.precision);
  }
  if (listed > 5) allow_ops += concat("; and ", listed - 5, " more");
  if (listed > 0) return allow_ops;
  std::string result = "no op of the class allow; there are ";
  if (others.empty()) return result + "no ops at all";
  for (bool first = true; const auto& [op, counted] : others) {
    result += concat(first ? "" : ", ", counted.first, ' ', op, " (", counted.second, ')');
    first = false;
  }
  return result;
}

}  // namespace

std::vector<std::string> policy_names() { return names_of(policies()); }

bool is_policy(std::string_view name) { return find_record(policies(), name) != nullptr; }

PrecisionPlan make_precision_plan(const Graph& f32_graph, const PrecisionRequest& wanted) {
  const Policy* policy =
      find_record(policies(), wanted.is_mixed() ? std::string_view(wanted.policy) : "f32");
  require(policy, "precision: expected a policy of ", listed_names(policies()), ", got '",
          wanted.policy, '\'');
  require(!policy->narrow || policy->narrow == wanted.narrow, "precision: policy ", policy->name,
          " computes in ", policy->narrow.value_or(DType::f32), ", and ", wanted.narrow,
          " was asked for");
  require(wanted.keep_batch_norm_f32 || policy->name == "apex_cast",
          "precision: BatchNormalization's parameters are narrow by policy apex_cast alone, and ",
          policy->name, " was asked for");
  PrecisionPlan plan = policy->plan(f32_graph, wanted);
  honour_scopes(plan, f32_graph);
  if (!wanted.master_weights) keep_parameters_narrow(plan, f32_graph, wanted);
  return plan;
}

std::optional<DType> format_of_policy(std::string_view name) {
  const Policy* const policy = find_record(policies(), name);
  return policy ? policy->narrow : std::nullopt;
}

void check(const PrecisionRequest& wanted) {
  require(!wanted.in_f64 || !wanted.is_mixed(),
          "precision: in f64 nothing is narrow, expected narrow f32, got ", wanted.narrow);
  require(!wanted.in_f64 || wanted.overrides.empty(),
          "precision: in f64 nothing is narrow, expected no overrides, got ",
          wanted.overrides.size());
}

void require_effect(const PrecisionPlan& plan) {
  const bool changes =
      std::any_of(plan.entries.begin(), plan.entries.end(),
                  [](const PlanEntry& entry) { return entry.dtype && *entry.dtype != DType::f32; });
  require(changes || plan.narrow == DType::f32, "mixed precision in ", plan.narrow,
          " changes nothing in '", plan.model_name, "': ", why_nothing(plan));
  require(plan.master_weights || !kept_formats(plan).empty(), "weights without masters: '",
          plan.model_name, "' has no parameter that only narrow nodes read");
}

}  // namespace narrowgauge
