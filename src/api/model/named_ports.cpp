// SPDX-License-Identifier: Apache-2.0
// Models with inputs and outputs by name, and those from files of ONNX.
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "api/model/model_implementation.h"
#include "api/model/onnx_network.h"
#include "base/machine/floating_environment.h"
#include "io/onnx/import/types.h"
#include "io/onnx/read.h"

namespace narrowgauge {

namespace {

std::string ports_text(const std::vector<ModelPort>& ports) {
  std::string text;
  for (const ModelPort& port : ports) {
    text += concat(text.empty() ? "" : ", ", "'", port.name, "'");
    if (port.type) text += concat(" ", *port.type);
  }
  return text;
}

// The tensors of the ports, in their order.
std::vector<Tensor> ordered(const std::vector<ModelPort>& ports,
                            std::span<const NamedTensor> given) {
  std::vector<Tensor> tensors;
  for (const ModelPort& port : ports)
    tensors.push_back(std::ranges::find(given, port.name, &NamedTensor::name)->tensor);
  return tensors;
}

std::optional<TensorType> stated_type(const onnx::ValueInfo& info) {
  if (!info.type || !std::holds_alternative<onnx::DenseTensorType>(info.type->kind)) return {};
  try {
    return onnx::type_of(info);
  } catch (const UnknownValueError&) {
    return {};
  }
}

}  // namespace

// Runs before every call: the text of the ports is made only for an error.
void require_inputs(const std::vector<ModelPort>& ports, std::span<const NamedTensor> given) {
  for (const NamedTensor& tensor : given) {
    const std::string whole = tensor.name.substr(0, tensor.name.rfind('['));
    const bool known = std::ranges::any_of(ports, [&](const ModelPort& port) {
      return port.name == tensor.name || (!port.type && port.name == whole);
    });
    if (!known)
      throw UsageError(
          concat("the model has no input '", tensor.name, "'; it takes ", ports_text(ports)));
  }
  for (const ModelPort& port : ports)
    if (port.type && std::ranges::count(given, port.name, &NamedTensor::name) != 1)
      throw UsageError(
          concat("input '", port.name, "' is expected once; the model takes ", ports_text(ports)));
}

std::vector<ModelPort> input_ports(const Graph& graph) {
  std::vector<ModelPort> ports;
  for (const Value value : graph.inputs())
    ports.push_back({graph.value_name(value), graph.type(value)});
  return ports;
}

std::vector<ModelPort> output_ports(const Graph& graph) {
  std::vector<ModelPort> ports;
  for (const GraphOutput& output : graph.outputs())
    ports.push_back({output.name, graph.type(output.value)});
  return ports;
}

Model Model::from_onnx(const std::string& path, const KnownInputs& known,
                       const OnnxTraining& training) {
  return ModelAccess::from_onnx(path, onnx::read_model(path), known, training);
}

Model ModelAccess::from_onnx(const std::string& path, onnx::Model read, const KnownInputs& known,
                             const OnnxTraining& training) {
  const FloatingEnvironment environment(Subnormals::keep);
  const auto file = std::make_shared<const onnx::Model>(with_values(std::move(read), known.values));
  const auto types = types_with(*file, known.sizes);
  std::string reason;
  try {
    return Model(network_name(path), onnx_network(*file, types, training));
  } catch (const UnknownValueError& error) {
    reason =
        concat(path, ": shapes are known only for inputs of known sizes (--shape): ", error.what());
  } catch (const ModelError& error) {
    throw ModelError(concat(path, ": ", error.what()));
  }
  Model model(std::make_shared<Model::Implementation>());
  Model::Implementation& self = *model.implementation_;
  self.name = network_name(path);
  self.build = [reason](Network&) -> Value { throw UnknownValueError(reason); };
  self.open_shapes = std::make_unique<OpenShapes>(file, self.store, self.seed, self.plan_memory);
  for (const onnx::ValueInfo* info : onnx::given_inputs(file->graph))
    self.inputs.push_back({info->name, stated_type(*info)});
  for (const onnx::ValueInfo& info : file->graph.outputs)
    self.outputs.push_back({info.name, std::nullopt});
  return model;
}

std::vector<ModelPort> Model::inputs() const { return implementation_->inputs; }
std::vector<ModelPort> Model::outputs() const { return implementation_->outputs; }

Graph Model::Implementation::graph_for(std::span<const NamedTensor> given) const {
  require_inputs(inputs, given);
  return open_shapes ? open_shapes->graph_for(given) : graph(Mode::evaluate);
}

OpenShapes::MakeProgram Model::Implementation::programs() {
  return [this](const Graph& evaluation_graph, CompileOptions options) {
    return program(evaluation_graph, std::move(options), seed);
  };
}

OpenShapes::Answering Model::Implementation::answering(std::span<const NamedTensor> given) {
  if (open_shapes) return open_shapes->answering(given, programs());
  std::vector<Tensor> tensors = ordered(inputs, given);
  Program::Lease executor = prediction_program().executor_for(tensors);
  return {std::move(executor), std::move(tensors), {}};
}

std::vector<NamedTensor> Model::run(std::span<const NamedTensor> given) {
  Implementation& self = *implementation_;
  require_inputs(self.inputs, given);
  if (self.open_shapes) {
    const std::lock_guard alone(self.in_use);
    return self.open_shapes->run(given, self.programs(), self.has_precision_of_nodes());
  }
  std::vector<Tensor> results = self.predict(ordered(self.inputs, given));
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < results.size(); ++i)
    named.push_back({self.outputs[i].name, std::move(results[i])});
  return named;
}

}  // namespace narrowgauge
