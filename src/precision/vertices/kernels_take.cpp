// SPDX-License-Identifier: Apache-2.0
#include "precision/vertices/kernels_take.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/composition/composite.h"
#include "ops/composition/interpret.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// A kernel is asked about numbers: the same one stands for all sizes that are still open.
constexpr std::int64_t some_size = 16;

Operand operand_of(const TensorType& type) {
  Operand operand{.dtype = type.dtype};
  for (const Dim& dim : type.shape)
    operand.dims.push_back(dim.is_known() ? dim.value() : some_size);
  operand.strides = strides_of(operand.dims, {});
  return operand;
}

}  // namespace

std::string why_no_kernel(const Graph& graph, const Node& node, const PlannedTypes& types) {
  if (is_built_in(*node.op) || is_composite(node)) return "";
  std::vector<Operand> inputs, outputs;
  for (const auto& [i, type] : enumerate(types.inputs)) {
    inputs.push_back(type ? operand_of(*type) : Operand{.present = false});
    if (type) inputs.back().constant = graph.constant_value(node.input(i));
    const Tensor* const constant = inputs.back().constant;
    if (constant && constant->dtype() != type->dtype) inputs.back().constant = nullptr;
  }
  for (const TensorType& type : types.outputs) outputs.push_back(operand_of(type));
  const Target target = Target::machine();
  const Request request{*node.op, node.attributes, inputs, outputs, target, types.math, node.name};
  std::string reasons;
  for (const Kernel& kernel : node.op->kernels()) {
    const Offer offer = kernel.offer(request);
    if (offer) return "";
    reasons += concat(reasons.empty() ? "" : "; ", kernel.name, ": ", offer.reason);
  }
  return reasons;
}

}  // namespace narrowgauge
