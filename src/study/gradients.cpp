// SPDX-License-Identifier: Apache-2.0
#include "study/gradients.h"

#include "api/model/model_implementation.h"
#include "passes/training/differentiate.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

// Its outputs are the loss, then the gradient of each of `parameters`.
Graph gradient_graph(const Model::Implementation& model, const Loss& loss,
                     std::vector<std::string>& parameters) {
  Network network(model.name, Mode::train);
  const Value value = loss(network, model.build(network));
  Graph graph = std::move(network.graph());
  require(graph.type(value) == TensorType{DType::f32, {}},
          "gradients: expected a scalar f32 loss, got ", graph.type(value));
  const std::vector<State> states = graph.states();
  Values wanted;
  for (const State& state : states) {
    graph.set_next(state.name, state.current);
    if (state.role != Role::parameter) continue;
    wanted.push_back(state.current);
    parameters.push_back(state.name);
  }
  const Value outputs[] = {value}, seeds[] = {graph.constant(Tensor::scalar(DType::f32, 1))};
  const Values found = append_gradients(graph, outputs, seeds, wanted);
  graph.output("loss", value);
  for (std::size_t i = 0; i < found.size(); ++i) {
    require<ModelError>(!found[i].is_absent(), "parameter '", parameters[i],
                        "': the loss does not depend on it");
    graph.output("gradient/" + parameters[i], found[i]);
  }
  return graph;
}

}  // namespace

Gradients gradients_of(Model& model, const Loss& loss, std::span<const Tensor> batch) {
  Model::Implementation& self = ModelAccess::of(model);
  std::vector<std::string> parameters;
  Program program(gradient_graph(self, loss, parameters), {}, self.store, self.seed);
  const std::lock_guard alone(self.in_use);
  const Program::Lease executor = program.executor_for(batch);
  std::vector<Tensor> results = executor->run(batch);
  const auto& outputs = executor->plan().outputs;
  Gradients gradients;
  for (std::size_t i = 0; i < results.size(); ++i) {
    constexpr std::string_view prefix = "gradient/";
    const std::string& output = outputs[i].value;
    if (output.starts_with(prefix))
      gradients.tensors.push_back({output.substr(prefix.size()), std::move(results[i])});
    else
      gradients.loss = results[i].at(0);
  }
  return gradients;
}

std::optional<double> loss_scale_of(const Checkpoint& checkpoint) {
  const Tensor* scale = checkpoint.state.find(loss_scale_name);
  const bool usable = scale && scale->size() == 1 && scale->at(0) > 1;
  return usable ? std::optional(scale->at(0)) : std::nullopt;
}

}  // namespace narrowgauge
