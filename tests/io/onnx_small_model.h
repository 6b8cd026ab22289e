// SPDX-License-Identifier: Apache-2.0
// Small models of ONNX, written in a few lines.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/import.h"
#include "ops/composition/interpret.h"

namespace narrowgauge::testing_support {

using Names = std::vector<std::string>;
using OnnxAttributes = std::vector<std::pair<std::string, onnx::AttributeValue>>;

inline onnx::Node onnx_node(const std::string& op, Names inputs, Names outputs,
                            const OnnxAttributes& attributes = {}) {
  onnx::Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  for (const auto& [name, value] : attributes) {
    onnx::Attribute attribute;
    attribute.name = name;
    attribute.type = static_cast<onnx::AttributeType>(value.index());
    attribute.value = value;
    node.attributes.push_back(std::move(attribute));
  }
  return node;
}

// "f32[N,3]"; sizes that are symbols become names of dimensions.
inline onnx::ValueInfo onnx_value(const std::string& name, const std::string& type) {
  const TensorType parsed = TensorType::parse(type);
  onnx::DenseTensorType tensor;
  tensor.element = onnx::data_type_of(parsed.dtype);
  tensor.shape.emplace();
  for (const Dim& dim : parsed.shape) {
    tensor.shape->dims.emplace_back();
    if (dim.is_known())
      tensor.shape->dims.back().size = dim.value();
    else
      tensor.shape->dims.back().size = dim.text();
  }
  onnx::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->kind = tensor;
  return info;
}

struct SmallModel {
  onnx::Model model;

  explicit SmallModel(std::int64_t opset) {
    model.opset_imports.emplace_back();
    model.opset_imports.back().version = opset;
    model.graph.name = "small";
  }
  SmallModel& input(const std::string& name, const std::string& type) {
    model.graph.inputs.push_back(onnx_value(name, type));
    return *this;
  }
  SmallModel& initializer(const std::string& name, const Tensor& tensor) {
    model.graph.initializers.push_back(onnx::tensor_data_of(tensor, name));
    return *this;
  }
  SmallModel& node(const std::string& op, Names inputs, Names outputs,
                   const OnnxAttributes& attributes = {}) {
    model.graph.nodes.push_back(onnx_node(op, std::move(inputs), std::move(outputs), attributes));
    return *this;
  }
  SmallModel& output(const std::string& name) {
    model.graph.outputs.emplace_back();
    model.graph.outputs.back().name = name;
    return *this;
  }
  Graph graph(const onnx::ImportOptions& options = {}) const {
    return onnx::import_graph(model, options);
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    const Graph imported = graph();
    std::map<std::string, Tensor> states;
    for (const State& state : imported.states()) states[state.name] = state.initial.data;
    return interpret(imported, inputs, {.states = &states});
  }
};

inline Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}
inline Tensor integers(Dims dims, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(std::move(dims), values);
}
inline std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}

}  // namespace narrowgauge::testing_support
