// SPDX-License-Identifier: Apache-2.0
#include "passes/operands.h"

namespace narrowgauge {

Operand operand_of(const Graph& graph, Value value) {
  Operand operand;
  operand.present = !value.is_absent();
  if (!operand.present) return operand;
  const ValueInfo& info = graph.info(value);
  operand.dtype = info.type.dtype;
  operand.dims = known_dims(info.type.shape);
  operand.storage = info.storage;
  if (info.storage.blocks.empty()) operand.strides = strides_of(operand.dims, info.storage);
  operand.constant = graph.constant_value(value);
  return operand;
}

std::vector<Operand> input_operands(const Graph& graph, const Node& node) {
  std::vector<Operand> operands;
  for (const Value& value : node.inputs) operands.push_back(operand_of(graph, value));
  return operands;
}

std::vector<Operand> output_operands(const Graph& graph, int node) {
  std::vector<Operand> operands;
  for (int o = 0; o < static_cast<int>(graph.node(node).outputs.size()); ++o)
    operands.push_back(operand_of(graph, {node, o}));
  return operands;
}

}  // namespace narrowgauge
