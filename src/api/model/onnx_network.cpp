// SPDX-License-Identifier: Apache-2.0
#include "api/model/onnx_network.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "io/onnx/import.h"
#include "io/onnx/import/types.h"
#include "io/onnx/read.h"
#include "passes/core/rebuild.h"
#include "passes/forms/recognize_forms.h"
#include "passes/quantized/fake_quantization.h"
#include "passes/shapes/open_batch.h"
#include "passes/training/batch_statistics.h"
#include "passes/training/untrained_states.h"

namespace narrowgauge {

void add_graph(const Graph& graph, Network& network) {
  Rebuild rebuild(graph, std::move(network.graph()));
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) rebuild.copy(i);
  network.graph() = std::move(rebuild.graph());
  for (const State& state : graph.states())
    network.graph().set_next(state.name, rebuild.mapped(state.next));
  for (const GraphOutput& output : graph.outputs())
    network.output(output.name, rebuild.mapped(output.value));
}

namespace {

Graph with_batch_as_wanted(Graph graph, const OnnxTraining& training) {
  if (!training.open_batch) return graph;
  try {
    return with_open_batch(graph);
  } catch (const UsageError&) {
    return graph;  // written for one batch
  }
}

}  // namespace

BuildNetwork onnx_network(const onnx::Model& model, const std::map<std::string, TensorType>& types,
                          const OnnxTraining& training) {
  Graph graph = with_batch_as_wanted(onnx::import_graph(model, {.types = types}), training);
  graph = recognize_forms(graph);
  const auto trained =
      std::make_shared<const Graph>(with_untrained_states(with_fake_quantization(graph)));
  const auto imported = std::make_shared<const Graph>(with_roles_of(*trained, graph));
  require<ModelError>(!imported->outputs().empty(), "the model has no output");
  return [imported, trained, training](Network& network) {
    const bool trains = network.mode() == Mode::train;
    const Graph& form = trains ? *trained : *imported;
    if (training.batch_norm == BatchNormForm::stored)
      add_graph(form, network);
    else
      add_graph(with_batch_statistics(form, trains), network);
    return network.find_output(training.output.empty() ? imported->outputs()[0].name
                                                       : training.output);
  };
}

BuildNetwork onnx_network(const std::string& path, const KnownInputs& known,
                          const OnnxTraining& training) {
  const onnx::Model model = with_values(onnx::read_model(path), known.values);
  try {
    return onnx_network(model, types_with(model, known.sizes), training);
  } catch (const UnknownValueError& error) {
    throw ModelError(concat(
        path, ": cannot be trained, as its shapes are known only when it runs: ", error.what()));
  } catch (const ModelError& error) {
    throw ModelError(concat(path, ": ", error.what()));
  }
}

std::map<std::string, TensorType> types_with(const onnx::Model& model,
                                             const std::map<std::string, Dims>& sizes) {
  std::map<std::string, TensorType> types;
  for (const auto& [name, dims] : sizes) {
    const auto found = std::ranges::find(model.graph.inputs, name, &onnx::ValueInfo::name);
    require(found != model.graph.inputs.end(), "the model has no input '", name, "'");
    types[name] = {onnx::element_of(*found), Shape(dims.begin(), dims.end())};
  }
  return types;
}

namespace {

// The numbers as the input states them; a single one also stands for a tensor of one element.
Tensor as_stated(const Tensor& value, const onnx::ValueInfo& input) {
  const DType dtype = onnx::element_of(input);
  Tensor tensor = value.cast(dtype);
  const Tensor back = tensor.cast(value.dtype());
  for (std::int64_t i = 0; i < value.size(); ++i)
    require(!is_integer(dtype) || back.at(i) == value.at(i), "input '", input.name, "' is ", dtype,
            ", which has no ", value.at(i));
  Shape stated;
  try {
    stated = onnx::type_of(input).shape;
  } catch (const UnknownValueError&) {
    return tensor;  // of any rank
  }
  if (tensor.dims().empty()) tensor = tensor.reshaped(Dims(stated.size(), 1));
  bool fits = tensor.dims().size() == stated.size();
  for (std::size_t i = 0; fits && i < stated.size(); ++i)
    fits = !stated[i].is_known() || stated[i] == Dim(tensor.dims()[i]);
  require(fits, "input '", input.name, "' is ", onnx::type_of(input), ", its value ",
          tensor.type());
  return tensor;
}

onnx::Node constant_node(const std::string& output, const Tensor& value) {
  onnx::Node node;
  node.op_type = "Constant";
  node.outputs = {output};
  onnx::Attribute attribute;
  attribute.name = "value";
  attribute.type = onnx::AttributeType::tensor;
  attribute.value = onnx::Box<onnx::TensorData>(onnx::tensor_data_of(value));
  node.attributes.push_back(std::move(attribute));
  return node;
}

}  // namespace

onnx::Model with_values(onnx::Model model, const std::map<std::string, Tensor>& values) {
  for (const auto& [name, value] : values) {
    auto& inputs = model.graph.inputs;
    const auto found = std::ranges::find(inputs, name, &onnx::ValueInfo::name);
    require(found != inputs.end(), "the model has no input '", name, "'");
    model.graph.nodes.insert(model.graph.nodes.begin(),
                             constant_node(name, as_stated(value, *found)));
    inputs.erase(found);
    std::erase_if(model.graph.initializers,
                  [&](const onnx::TensorData& tensor) { return tensor.name == name; });
  }
  return model;
}

std::string network_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  return name.empty() ? "model" : name;
}

}  // namespace narrowgauge
