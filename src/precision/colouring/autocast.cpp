// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/autocast.h"

#include <algorithm>

namespace narrowgauge {

namespace {

// The lists of PyTorch's autocast for CUDA (aten/src/ATen/autocast_mode.h), by the ops that compute
// what its functions do. Sums of squares and the like stand for its norms.
constexpr std::string_view narrow_ops[]{"PRelu"};
constexpr std::string_view f32_ops[]{"Acos",
                                     "Asin",
                                     "Cosh",
                                     "CumProd",
                                     "CumSum",
                                     "Exp",
                                     "GroupNormalization",
                                     "LayerNormalization",
                                     "Log",
                                     "LogSoftmax",
                                     "LpNormalization",
                                     "NegativeLogLikelihoodLoss",
                                     "Pow",
                                     "RMSNormalization",
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
constexpr DispatchLists lists{narrow_ops, f32_ops, "PyTorch's"};

std::string reason(const FormatChoice& choice) {
  switch (choice.rule) {
    case PrecisionRule::seed_allow:
      return "its op is on PyTorch's list of narrow ops";
    case PrecisionRule::deny_list:
      return "its op is on PyTorch's list of ops in f32";
    default:
      return "the widest format that it reads";
  }
}

}  // namespace

FormatChoice choose_in_scope(const PrecisionVertex& vertex, const FormatsSoFar& formats) {
  const DType format = *vertex.node->autocast;
  FormatChoice choice{DType::f32, PrecisionRule::autocast, PrecisionClass::unlisted,
                      "f32: autocast is off here"};
  if (format == DType::f32) return choice;
  choice = dispatch(vertex, format, lists, formats);
  choice.note = concat(choice.dtype, ": ", reason(choice));
  choice.rule = PrecisionRule::autocast;
  return choice;
}

void honour_scopes(PrecisionPlan& plan, const Graph& f32_graph) {
  const auto marked = [](const Node& node) { return node.autocast.has_value(); };
  if (std::ranges::none_of(f32_graph.nodes(), marked)) return;
  const std::vector<PrecisionVertex> vertices = precision_vertices(f32_graph);
  const FormatsSoFar formats(vertices, plan.entries);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const PrecisionVertex& vertex = vertices[v];
    PlanEntry& entry = plan.entries[v];
    const bool free = vertex.kind == PrecisionVertex::Kind::node && !vertex.preserved &&
                      !nothing_to_choose(vertex) && entry.rule != PrecisionRule::override_by_name;
    if (!free || !marked(*vertex.node)) continue;
    FormatChoice choice = choose_in_scope(vertex, formats);
    if (choice.dtype != DType::f32 && !vertex.takes(choice.dtype))
      choice = {DType::f32, PrecisionRule::dtype_not_supported, choice.precision,
                vertex.why_no_kernel(choice.dtype)};
    entry.dtype = choice.dtype;
    entry.rule = choice.rule;
    entry.precision = choice.precision;
    entry.note = choice.note;
    entry.cause.clear();
    entry.math = math_contract(vertex, entry.dtype, plan.f32_math);
  }
}

}  // namespace narrowgauge
