// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/node_by_node.h"
#include "precision/colouring/policy.h"

namespace narrowgauge {
namespace {

// The lists of apex.amp's O1 (apex/amp/lists, before the removal of apex.amp), by the ops that
// compute what its functions do.
constexpr std::string_view narrow_ops[]{"PRelu"};
constexpr std::string_view f32_ops[]{"Acos",
                                     "Asin",
                                     "Cosh",
                                     "CumProd",
                                     "CumSum",
                                     "Exp",
                                     "Gelu",
                                     "GridSample",
                                     "GroupNormalization",
                                     "LRN",
                                     "LayerNormalization",
                                     "Log",
                                     "LogSoftmax",
                                     "LpNormalization",
                                     "NegativeLogLikelihoodLoss",
                                     "Pow",
                                     "Reciprocal",
                                     "ReduceL1",
                                     "ReduceL2",
                                     "ReduceLogSum",
                                     "ReduceLogSumExp",
                                     "ReduceProd",
                                     "ReduceSum",
                                     "ReduceSumSquare",
                                     "Resize",
                                     "Sinh",
                                     "Softmax",
                                     "SoftmaxCrossEntropyLoss",
                                     "Softplus",
                                     "Tan"};
constexpr DispatchLists lists{narrow_ops, f32_ops, "apex's"};

PrecisionPlan by_apex_lists(const Graph& f32_graph, const PrecisionRequest& wanted) {
  const auto decide = [&](const PrecisionVertex& vertex, const FormatsSoFar& formats,
                          std::optional<PrecisionClass> overridden) {
    if (vertex.node->phase == Phase::update)
      return FormatChoice{DType::f32, PrecisionRule::after_network};
    return dispatch(vertex, wanted.narrow, lists, formats, overridden);
  };
  return plan_node_by_node(f32_graph, wanted, decide);
}

}  // namespace
}  // namespace narrowgauge

NG_POLICY(apex_lists, "apex_lists", "op by op after apex's lists, as its O1", by_apex_lists,
          narrowgauge::DType::f16)
