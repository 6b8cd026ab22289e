// SPDX-License-Identifier: Apache-2.0
// Policies: who decides in which format each node computes. Each is a stem in precision/policies
// that the build finds by its mark.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/stem_table.h"
#include "narrowgauge/precision.h"

namespace narrowgauge {

struct Policy {
  std::string_view name, help;
  // May leave every node in f32. Throws UsageError for a request that it cannot follow.
  PrecisionPlan (*plan)(const Graph& f32_graph, const PrecisionRequest& wanted);
  std::optional<DType> narrow{};  // the only narrow format that it knows; nothing: any
};

std::vector<const Policy*> policies();
bool is_policy(std::string_view name);

// The plan that the wanted policy makes; where nothing is to be narrow, that of `f32`. A plan says
// what a machine must keep and not how, so it does not depend on the machine. Throws UsageError for
// an unknown policy and for what the policy refuses.
PrecisionPlan make_precision_plan(const Graph& f32_graph, const PrecisionRequest& wanted);

// The narrow format that comes with a policy of this name; nothing where any may be asked for.
std::optional<DType> format_of_policy(std::string_view name);

// Throws UsageError for a request of formats that exclude each other.
void check(const PrecisionRequest& wanted);
// Throws UsageError saying why if mixed precision was asked for and no node became narrow, or
// weights without masters and no parameter became narrow.
void require_effect(const PrecisionPlan& plan);

}  // namespace narrowgauge

// NG_POLICY(stem, name, help, plan[, narrow]) enters a policy.
#define NG_POLICY(stem, ...) NG_STEM(policy_table, Policy, stem, __VA_ARGS__)
