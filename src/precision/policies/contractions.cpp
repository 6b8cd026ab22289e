// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/lists.h"
#include "precision/colouring/policy.h"

namespace narrowgauge {
namespace {

bool is_contraction(const PrecisionVertex& vertex) {
  return math_contract(vertex, DType::f32, Math::f32) != Math::none;
}

PrecisionPlan contractions_alone(const Graph& f32_graph, const PrecisionRequest& wanted) {
  return colour_by_lists(f32_graph, wanted, {is_contraction, "only contractions are narrow"});
}

}  // namespace
}  // namespace narrowgauge

NG_POLICY(contractions, "contractions", "only what multiplies and sums", contractions_alone)
