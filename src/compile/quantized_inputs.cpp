// SPDX-License-Identifier: Apache-2.0
#include "compile/quantized_inputs.h"

#include <algorithm>

#include "groups/fused.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/operands.h"

namespace narrowgauge {
namespace {

bool makes_bytes(const Node& node) {
  if (!node.is<QuantizeLinear>() && !node.is<DynamicQuantizeLinear>() && !node.is<Fused>())
    return false;
  return std::ranges::any_of(node.outputs, [](const auto& output) {
    const DType dtype = output.type.dtype;
    return is_integer(dtype) && bits(dtype) <= 8;
  });
}

bool rows_follow(const Storage& storage) {
  const bool cut = std::ranges::any_of(storage.blocks, [](const auto& b) { return b.axis == 0; });
  return !cut && (storage.order.empty() || storage.order[0] == 0);
}

}  // namespace

std::vector<QuantizedInput> quantized_inputs(const Graph& graph, const Node& node) {
  std::vector<QuantizedInput> found;
  if (!makes_bytes(node)) return found;
  const std::size_t count = node.is<Fused>() ? node.inputs.size() : 1;
  for (std::size_t k = 0; k < count; ++k) {
    const Value value = node.inputs[k];
    if (value.is_absent() || is_lasting(graph, value)) continue;
    const Operand operand = operand_of(graph, value);
    const bool dense =
        stored_elements(operand.dims, operand.storage) == element_count(operand.dims);
    if (is_floating(operand.dtype) && operand.storage.encoding.empty() &&
        bits(operand.dtype) >= 16 && dense)
      found.push_back({k, operand.dtype, operand.dims, rows_follow(operand.storage)});
  }
  return found;
}

}  // namespace narrowgauge
