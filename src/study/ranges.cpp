// SPDX-License-Identifier: Apache-2.0
#include "study/ranges.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "api/model/model_implementation.h"
#include "api/training/training_setup.h"
#include "passes/training/differentiate.h"

namespace narrowgauge {

ValueRange::ValueRange() : census({find_number_format("f16"), find_number_format("bf16")}) {}

void ValueRange::add(const Tensor& values, double scale) {
  census.add(values, scale);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double size = std::abs(values.at(i) * scale);
    if (size == 0 || !std::isfinite(size)) continue;
    smallest = is_empty() ? size : std::min(smallest, size);
    largest = std::max(largest, size);
  }
}

namespace {

// Where the numbers of a layer stand in the graph.
struct Layer {
  int node = 0;
  std::vector<Value> parameters;
};

// Nodes whose first output is of f32 and that read parameters.
std::vector<Layer> layers_of(const Graph& graph) {
  std::vector<Value> parameters;
  for (const State& state : graph.states())
    if (state.role == Role::parameter) parameters.push_back(state.current);
  std::vector<Layer> layers;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    Layer layer{i, {}};
    for (const Value& input : graph.node(i).inputs)
      if (std::ranges::find(parameters, input) != parameters.end())
        layer.parameters.push_back(input);
    const bool real = graph.node(i).output(0).type.dtype == DType::f32;
    if (!layer.parameters.empty() && real) layers.push_back(std::move(layer));
  }
  return layers;
}

// A value of the graph, and the range that it counts in.
struct Wanted {
  Value value;
  ValueRange* range;
};

// The values of the layers with respect to which gradients are wanted.
std::vector<Wanted> sources_of(const std::vector<Layer>& layers, std::vector<LayerRanges>& ranges) {
  std::vector<Wanted> sources;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    sources.push_back({Value{layers[i].node, 0}, &ranges[i].output_gradients});
    for (const Value& parameter : layers[i].parameters)
      sources.push_back({parameter, &ranges[i].parameter_gradients});
  }
  return sources;
}

// Puts the gradients of the loss in the place of the values, where there are any.
std::vector<Wanted> gradients_of(Graph& graph, Value loss, std::vector<Wanted> sources) {
  Values of;
  for (const Wanted& source : sources) of.push_back(source.value);
  const Value outputs[] = {loss}, seeds[] = {graph.constant(Tensor::scalar(DType::f32, 1))};
  const Values gradients = append_gradients(graph, outputs, seeds, of);
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i].value = gradients[i];
  std::erase_if(sources, [](const Wanted& each) { return each.value.is_absent(); });
  return sources;
}

}  // namespace

std::vector<LayerRanges> layer_ranges(Model& model, const Loss& loss, std::span<const Tensor> batch,
                                      double gradient_scale) {
  Model::Implementation& self = ModelAccess::of(model);
  Network network(self.name, Mode::train);
  const Value value = loss(network, self.build(network));
  Graph graph = std::move(network.graph());
  const std::vector<Layer> layers = layers_of(graph);
  std::vector<LayerRanges> ranges(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Node& node = graph.node(layers[i].node);
    ranges[i].name = node.full_name();
    ranges[i].op = node.op->full_name();
    for (const Value& parameter : layers[i].parameters)
      ranges[i].weights.add(model.state(graph.producer(parameter).name));
  }
  if (batch.empty()) return ranges;
  const std::vector<State> states = graph.states();
  for (const State& state : states) graph.set_next(state.name, state.current);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < layers.size(); ++i)
    wanted.push_back({Value{layers[i].node, 0}, &ranges[i].activations});
  const std::size_t activations = wanted.size();
  std::ranges::copy(gradients_of(graph, value, sources_of(layers, ranges)),
                    std::back_inserter(wanted));
  for (std::size_t i = 0; i < wanted.size(); ++i) graph.output(concat("value", i), wanted[i].value);
  Program program(std::move(graph), {}, self.store, self.seed);
  const std::lock_guard alone(self.in_use);
  const std::vector<Tensor> results = program.executor_for(batch)->run(batch);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i].range->add(results[i], i < activations ? 1 : gradient_scale);
  return ranges;
}

}  // namespace narrowgauge
