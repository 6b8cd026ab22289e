// SPDX-License-Identifier: Apache-2.0
// What a built-in network answers to given weights and inputs, both from safetensors files, in f32:
// prediction, loss, and the gradient of each parameter. For tests/models_oracle.py.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/model/model_implementation.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/safetensors.h"
#include "passes/training/differentiate.h"

using namespace narrowgauge;

namespace {

struct Wishes {
  std::string model, mode = "evaluate", head = "classification", weights, inputs, answers;
  std::int64_t side = 64, sequence = 16, classes = 10;
};

BuildNetwork network_of(const Wishes& wishes) {
  if (model_facts(wishes.model).input == InputKind::images)
    return find_model(wishes.model, {3, wishes.side, wishes.side}, wishes.classes);
  if (is_language_model(wishes.model))
    return find_language_model(wishes.model, {wishes.sequence, wishes.classes});
  const bool spans = wishes.head == "question-answering";
  return bert_base({.sequence = wishes.sequence},
                   spans ? Head::question_answering : Head::classification, wishes.classes);
}

Loss loss_of(const Wishes& wishes) {
  if (is_language_model(wishes.model)) return next_token_cross_entropy();
  return wishes.head == "question-answering" ? span_cross_entropy() : softmax_cross_entropy();
}

// Outputs "prediction", "loss" and, for each parameter, "gradient of" its name.
Graph graph_of(const Wishes& wishes) {
  Network network(wishes.model, wishes.mode == "train" ? Mode::train : Mode::evaluate);
  const Value prediction = network_of(wishes)(network);
  const Value loss = loss_of(wishes)(network, prediction);
  Graph& graph = network.graph();
  graph.output("prediction", prediction);
  graph.output("loss", loss);
  Values parameters;
  std::vector<std::string> names;
  for (const State& state : graph.states())
    if (state.role == Role::parameter) {
      parameters.push_back(state.current);
      names.push_back(state.name);
    }
  const Value seed = graph.constant(Tensor::scalar(DType::f32, 1));
  const Values gradients =
      append_gradients(graph, std::span(&loss, 1), std::span(&seed, 1), parameters);
  for (std::size_t i = 0; i < names.size(); ++i)
    graph.output("gradient of " + names[i], gradients[i]);
  return std::move(graph);
}

void run(const Wishes& wishes) {
  Model model(wishes.model, network_of(wishes));
  model.load(wishes.weights);
  const Graph graph = graph_of(wishes);
  const TensorFile file = read_safetensors(wishes.inputs);
  std::vector<Tensor> inputs;
  for (const Value input : graph.inputs()) {
    const std::string name = graph.value_name(input);
    const Tensor* tensor = file.find(name);
    require<DataError>(tensor, wishes.inputs, ": has no '", name, "'");
    inputs.push_back(*tensor);
  }
  Program program(graph, CompileOptions{}, ModelAccess::of(model).store, 1);
  const std::vector<Tensor> results = program.executor_for(inputs)->run(inputs);
  TensorFile answers;
  for (std::size_t i = 0; i < results.size(); ++i)
    answers.tensors.push_back({graph.outputs()[i].name, results[i]});
  write_safetensors(wishes.answers, answers);
}

}  // namespace

int main(int count, char** arguments) {
  Wishes wishes;
  CLI::App app("Answers of a built-in network to given weights and inputs.");
  app.option_defaults()->always_capture_default();
  app.add_option("--model", wishes.model)->required();
  app.add_option("--mode", wishes.mode, "train or evaluate");
  app.add_option("--side", wishes.side, "of the images");
  app.add_option("--sequence", wishes.sequence, "tokens");
  app.add_option("--classes", wishes.classes);
  app.add_option("--head", wishes.head, "of bert-base: classification or question-answering");
  app.add_option("--weights", wishes.weights, "safetensors file")->required();
  app.add_option("--inputs", wishes.inputs, "safetensors file, labels too")->required();
  app.add_option("--answers", wishes.answers, "safetensors file to write")->required();
  CLI11_PARSE(app, count, arguments);
  try {
    run(wishes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_network_answers: %s\n", error.what());
    return 1;
  }
  return 0;
}
