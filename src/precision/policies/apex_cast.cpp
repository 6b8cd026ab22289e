// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/policy.h"
#include "precision/colouring/whole_network.h"
#include "precision/plans/parameters.h"

namespace narrowgauge {
namespace {

PrecisionPlan as_apex_casts(const Graph& f32_graph, const PrecisionRequest& wanted) {
  PrecisionPlan plan = cast_whole_network(f32_graph, wanted);
  cast_parameters(plan, f32_graph, wanted);
  return plan;
}

}  // namespace
}  // namespace narrowgauge

NG_POLICY(apex_cast, "apex_cast", "the whole network and its parameters, as apex's O2 and O3",
          as_apex_casts, narrowgauge::DType::f16)
