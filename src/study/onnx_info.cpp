// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/onnx_info.h"

#include <algorithm>
#include <set>

#include "api/model/model_implementation.h"
#include "api/model/onnx_network.h"
#include "io/onnx/for_each.h"
#include "io/onnx/import/conversions.h"
#include "io/onnx/import/handlers.h"
#include "io/onnx/import/types.h"
#include "io/onnx/read.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

bool is_known(const std::string& op, const std::set<std::string>& functions) {
  return op_table().find(op) || onnx::find_handler(op) || onnx::find_text_handler(op) ||
         functions.contains(op);
}

bool is_differentiable(const std::string& op) {
  const OpRecord* const record = op_table().find(op);
  return record && (record->gradient || record->decompose);
}

std::vector<OnnxOpCount> count_ops(const onnx::Model& model) {
  std::set<std::string> functions;
  for (const onnx::Function& function : model.functions) functions.insert(function.full_name());
  std::map<std::string, OnnxOpCount> counts;
  onnx::for_each<onnx::Node>(model, [&](const onnx::Node& node) {
    OnnxOpCount& count = counts[node.full_name()];
    ++count.nodes;
  });
  std::vector<OnnxOpCount> sorted;
  for (auto& [op, count] : counts) {
    count.op = op;
    count.known = is_known(op, functions);
    count.differentiable = is_differentiable(op);
    sorted.push_back(std::move(count));
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &OnnxOpCount::nodes);
  return sorted;
}

ModelPort port_of(const onnx::ValueInfo& info) {
  try {
    return {info.name, onnx::type_of(info)};
  } catch (const UsageError&) {
    return {info.name, std::nullopt};  // a sequence, a type of others, or without a rank
  }
}

void add_ports(const onnx::Graph& graph, OnnxInfo& info) {
  for (const onnx::ValueInfo* input : onnx::given_inputs(graph))
    info.inputs.push_back(port_of(*input));
  for (const onnx::ValueInfo& output : graph.outputs) info.outputs.push_back(port_of(output));
}

void add_parameters(const onnx::Graph& graph, OnnxInfo& info) {
  for (const onnx::TensorData& tensor : graph.initializers) {
    const onnx::DataTypeFacts* const facts = onnx::facts_of(tensor.data_type);
    if (facts && facts->dtype && is_floating(*facts->dtype))
      info.parameters += element_count(tensor.dims);
    info.bytes += onnx::raw_bytes(tensor).value_or(0);
  }
}

// Every symbol as 1.
Binding ones(const Graph& graph) {
  Binding binding;
  for (const Value value : graph.inputs())
    for (const Dim& dim : graph.type(value).shape)
      if (!dim.is_known()) binding[dim.text()] = 1;
  return binding;
}

}  // namespace

OnnxInfo onnx_info(const std::string& path, const KnownInputs& known) {
  const onnx::Model model = with_values(onnx::read_model(path), known.values);
  OnnxInfo info;
  info.producer = model.producer_name;
  if (!model.producer_version.empty()) info.producer += " " + model.producer_version;
  info.description = model.doc_string;
  info.ir_version = model.ir_version;
  info.opsets = onnx::opsets_of(model.opset_imports);
  add_ports(model.graph, info);
  add_parameters(model.graph, info);
  info.ops = count_ops(model);
  try {
    const BuildNetwork build = onnx_network(model, types_with(model, known.sizes));
    const Graph graph = network_graph(network_name(path), build, Mode::evaluate);
    info.costs = model_info(graph, ones(graph));
    info.inputs = input_ports(graph);
    info.outputs = output_ports(graph);
  } catch (const UsageError& error) {
    info.reason = error.what();
  }
  return info;
}

}  // namespace narrowgauge
