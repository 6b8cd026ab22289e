// SPDX-License-Identifier: Apache-2.0
// The policy `lists`: makes a plan from the precision class of each op, overrides by name, and the
// colouring.
#pragma once

#include <functional>

#include "narrowgauge/precision.h"

namespace narrowgauge {

// Whether some kernel computes this node of the f32 graph with T in the narrow format.
using HasKernel = std::function<bool(const Node&, DType narrow)>;

struct ListOptions {
  MixedPrecision request{};
  bool infer_extension = true;  // step 4 of the colouring, for f16 as for bf16
  HasKernel has_kernel{};       // empty: every op that takes the format has one
};

// Throws UsageError for a bad override, or if nothing would become narrow, and says why.
PrecisionPlan plan_by_lists(const Graph& f32_graph, const ListOptions& options);
// Makes the plan even if all nodes stay in f32.
PrecisionPlan colour_by_lists(const Graph& f32_graph, const ListOptions& options);

// The plan of policy `f32`, in which nothing is narrow.
PrecisionPlan f32_plan(const Graph& f32_graph, Math f32_math = Math::f32);

}  // namespace narrowgauge
