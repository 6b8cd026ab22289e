// SPDX-License-Identifier: Apache-2.0
#include "passes/core/operands.h"

#include <algorithm>

#include "ops/pointwise/cast.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"

namespace narrowgauge {

bool is_view(const Node& node) {
  return node.is<ReshapeTo>() || node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() ||
         node.is<Unsqueeze>() || node.is<Identity>();
}

Value viewed(const Graph& graph, Value value) {
  while (is_view(graph.producer(value))) value = graph.producer(value).inputs[0];
  return value;
}

bool is_lasting(const Graph& graph, Value value) {
  const Node& node = graph.producer(viewed(graph, value));
  if (!node.is<StateValue>()) return node.is<Constant>();
  const State* const state = graph.find_state(node.name);
  return state && state->role != Role::control && state->next == state->current &&
         std::ranges::all_of(graph.nodes(),
                             [](const Node& each) { return each.phase == Phase::forward; });
}

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
  operand.lasts = is_lasting(graph, value);
  return operand;
}

std::vector<Operand> input_operands(const Graph& graph, const Node& node) {
  std::vector<Operand> operands;
  for (const Value& value : node.inputs) operands.push_back(operand_of(graph, value));
  return operands;
}

bool is_computed(const Graph& graph, Value output, const std::set<Value>& read) {
  return read.contains(output) || !graph.producer(output).op->output_port(output.output).optional;
}

std::vector<Operand> output_operands(const Graph& graph, int node, const std::set<Value>& read) {
  std::vector<Operand> operands;
  for (int o = 0; o < static_cast<int>(graph.node(node).outputs.size()); ++o) {
    operands.push_back(operand_of(graph, {node, o}));
    operands.back().present = is_computed(graph, {node, o}, read);
  }
  return operands;
}

std::set<Value> values_read(const Graph& graph) {
  std::set<Value> read;
  for (const Node& node : graph.nodes())
    for (const Value& value : node.inputs)
      if (!value.is_absent()) read.insert(value);
  for (const State& state : graph.states()) read.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) read.insert(output.value);
  return read;
}

double flops_of(const Graph& graph, const Node& node, const Binding& binding) {
  if (!node.op->flops) return 0;
  TensorTypes inputs, outputs;
  const auto bound = [&](const TensorType& type) {
    return TensorType{type.dtype, bind(type.shape, binding)};
  };
  for (const Value& value : node.inputs)
    inputs.push_back(value.is_absent() ? TensorType{} : bound(graph.type(value)));
  for (const ValueInfo& output : node.outputs) outputs.push_back(bound(output.type));
  return node.op->flops(node.attributes.get(), inputs, outputs);
}

}  // namespace narrowgauge
