// SPDX-License-Identifier: Apache-2.0
// A hundred steps of every optimizer against traces/optimizers.txt: weights in f64 within 1e-9 of
// those of PyTorch, timm or NumPy; in f32 no farther from f64 than twice what theirs is.
#include <cmath>

#include "narrowgauge/optimizer.h"
#include "ops/composition/interpret.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/reduce/reduce.h"
#include "passes/core/in_f64.h"
#include "train/traces/read.h"
#include "train/training_graph.h"

namespace narrowgauge::optimizer_traces_test {
namespace {

constexpr int steps = 100;
const std::vector<Dims> small{{4, 3}, {2, 5}, {3}}, large{{20, 15}, {10, 25}, {100}};

// 24 bits for each element, from -1 to 1: make_traces.py has the same.
double noise(std::int64_t element, std::uint32_t step, std::uint32_t parameter) {
  std::uint32_t x = static_cast<std::uint32_t>(element) * 2654435761U + step * 2246822519U +
                    parameter * 3266489917U + 374761393U;
  x = (x ^ (x >> 15)) * 2246822519U;
  x = (x ^ (x >> 13)) * 3266489917U;
  x ^= x >> 16;
  return static_cast<double>(x >> 8) / 8388608 - 1;
}

Tensor weight_of(const Dims& dims, std::uint32_t parameter) {
  Tensor weight(DType::f32, dims);
  for (std::int64_t i = 0; i < weight.size(); ++i) weight.set(i, noise(i, 1000003, parameter));
  return weight;
}

Tensor gradient_of(const TensorType& type, std::uint32_t step, std::uint32_t parameter) {
  Tensor gradient(type.dtype, known_dims(type.shape));
  for (std::int64_t i = 0; i < gradient.size(); ++i)
    gradient.set(i, std::ldexp(noise(i, step, parameter), -static_cast<int>(i % 5 + step * 3 % 7)));
  return gradient;
}

std::string weight_name(std::size_t parameter) { return concat("weight", parameter); }

// The loss is the sum over all products of a weight and an input, which is thus its gradient.
Graph forward_graph(const std::vector<Dims>& shapes) {
  Graph graph;
  Value loss = absent;
  for (std::size_t p = 0; p < shapes.size(); ++p) {
    const Tensor weight = weight_of(shapes[p], static_cast<std::uint32_t>(p));
    State state;
    state.name = weight_name(p);
    state.type = weight.type();
    state.initial = Initial::of(weight);
    const Value product = graph.add(
        Mul{}, {graph.state(std::move(state)), graph.input(concat("gradient", p), weight.type())});
    const Value sum = graph.add(ReduceSum{.keepdims = 0}, {product});
    loss = loss.is_absent() ? sum : graph.add(Add{}, {loss, sum});
  }
  graph.output("loss", loss);
  return graph;
}

// The states of a graph before the first step.
std::map<std::string, Tensor> initial_states(const Graph& graph) {
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states())
    states[state.name] =
        state.initial.kind == Initial::Kind::data
            ? state.initial.data.clone()
            : Tensor::full(state.type.dtype, known_dims(state.type.shape), state.initial.a);
  return states;
}

struct Training {
  std::vector<double> first, last;  // all weights after the first and the last step
};

// Trains in f64 by reference kernels, in f32 by those that training uses.
Training train(const Optimizer& optimizer, const std::vector<Dims>& shapes, DType dtype) {
  Graph forward = forward_graph(shapes);
  if (dtype == DType::f64) forward = in_f64(forward);
  const Graph graph = make_training_graph(forward, optimizer);
  std::map<std::string, Tensor> states = initial_states(graph);
  Training run;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<Tensor> inputs;
    for (const Value& input : graph.inputs())
      inputs.push_back(
          gradient_of(graph.type(input), step, static_cast<std::uint32_t>(inputs.size())));
    interpret(graph, inputs, {.reference = dtype == DType::f64, .states = &states});
    std::vector<double> weights;
    for (std::size_t p = 0; p < shapes.size(); ++p)
      for (std::int64_t i = 0; i < states.at(weight_name(p)).size(); ++i)
        weights.push_back(states.at(weight_name(p)).at(i));
    if (step == 0) run.first = weights;
    run.last = std::move(weights);
  }
  return run;
}

Optimizer optimizer_of(const traces::Case& trace) {
  Optimizer optimizer = parse_optimizer(trace.name);
  for (const auto& [name, value] : trace.settings) {
    if (name == "lr") {
      optimizer.learning_rate = value;
      continue;
    }
    for (const Hyperparameter& each : optimizer.rule.hyperparameters()) {
      if (each.name != name) continue;
      if (std::holds_alternative<bool>(each.value))
        optimizer.rule.set(name, value != 0);
      else
        optimizer.rule.set(name, value);
      break;
    }
  }
  check(optimizer);
  return optimizer;
}

void expect_weights(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-9 * std::abs(expected[i]) + 1e-13) << i;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double distance(const std::vector<double>& from, std::vector<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] -= from[i];
  return norm(to) / norm(from);
}

TEST(optimizer_traces, are_followed_in_f64) {
  for (const traces::Case& trace : traces::read("optimizers.txt", 3)) {
    SCOPED_TRACE(trace.title);
    const Training run = train(optimizer_of(trace), small, DType::f64);
    expect_weights(run.first, trace.numbers.at("first"));
    expect_weights(run.last, trace.numbers.at("last"));
  }
}

TEST(optimizer_traces, are_kept_in_f32_as_well_as_by_theirs) {
  for (const traces::Case& trace : traces::read("optimizers.txt", 3)) {
    SCOPED_TRACE(trace.title);
    const Optimizer optimizer = optimizer_of(trace);
    const std::vector<double> wide = train(optimizer, large, DType::f64).last;
    const double ours = distance(wide, train(optimizer, large, DType::f32).last);
    EXPECT_LE(ours, 2 * trace.numbers.at("f32")[0]);
  }
}

TEST(optimizer_traces, are_of_every_optimizer) {
  std::map<std::string, int> counted;
  for (const traces::Case& trace : traces::read("optimizers.txt", 3)) ++counted[trace.name];
  for (const std::string& name : optimizer_names()) EXPECT_GE(counted[name], 2) << name;
}

}  // namespace
}  // namespace narrowgauge::optimizer_traces_test
