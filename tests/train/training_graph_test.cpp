// SPDX-License-Identifier: Apache-2.0
// Training in f64 against a perceptron computed by hand, and the states that settings add.
#include "train/training_graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compile/compile.h"
#include "ops/activation/sigmoid.h"
#include "ops/composition/interpret.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/reduce/reduce.h"
#include "passes/core/in_f64.h"
#include "runtime/executor.h"

namespace narrowgauge::training_graph_test {
namespace {

constexpr int rows = 4, inputs = 3, hidden = 5, outputs = 2;

// Numbers that f32 does not hold as they are, from -1 to 1.
double number(std::int64_t i, int seed) { return std::sin(static_cast<double>(i) * 1.7 + seed); }

Tensor filled(DType dtype, const Dims& dims, int seed) {
  Tensor tensor(dtype, dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, number(i, seed));
  return tensor;
}

Value parameter(Graph& graph, const std::string& name, const Dims& dims, int seed) {
  State state;
  state.name = name;
  state.initial = Initial::of(filled(DType::f32, dims, seed));
  state.type = state.initial.data.type();
  return graph.state(std::move(state));
}

// The mean of (tanh(x w1 + b) w2 - y)^2.
Graph perceptron() {
  Graph graph("perceptron");
  const Value x = graph.input("x", TensorType::parse("f32[4,3]")),
              y = graph.input("y", TensorType::parse("f32[4,2]"));
  const Value w1 = parameter(graph, "w1", {inputs, hidden}, 1),
              b = parameter(graph, "b", {hidden}, 2),
              w2 = parameter(graph, "w2", {hidden, outputs}, 3);
  const Value h = graph.add(Tanh{}, {graph.add(Add{}, {graph.add(MatMul{}, {x, w1}), b})});
  const Value d = graph.add(Sub{}, {graph.add(MatMul{}, {h, w2}), y});
  graph.output("loss", graph.add(ReduceMean{.keepdims = 0}, {graph.add(Mul{}, {d, d})}));
  return graph;
}

Optimizer optimizer_of_test() {
  Optimizer optimizer = sgd(0.3);
  optimizer.rule.set("weight_decay", 0.02);
  optimizer.clip_norm = 0.4;
  optimizer.schedule = {.name = "linear", .warmup_steps = 2, .total_steps = 9};
  optimizer.loss_scale.kind = LossScale::Kind::fixed;
  optimizer.loss_scale.initial = 3;  // whose inverse no format holds
  return optimizer;
}

using Matrix = std::vector<std::vector<double>>;

Matrix by_hand(int height, int width, int seed, bool rounded) {
  Matrix matrix(static_cast<std::size_t>(height),
                std::vector<double>(static_cast<std::size_t>(width)));
  std::int64_t i = 0;
  for (auto& row : matrix)
    for (double& value : row) {
      value = number(i++, seed);
      if (rounded) value = static_cast<double>(static_cast<float>(value));
    }
  return matrix;
}

// A weight with what the test's optimizer keeps of it.
struct HandWeight {
  Matrix value, velocity, gradient;
  explicit HandWeight(Matrix begin) : value(std::move(begin)), velocity(value) {
    for (auto& row : velocity) row.assign(row.size(), 0);
    gradient = velocity;
  }
  double squares() const {
    double sum = 0;
    for (const auto& row : gradient)
      for (const double g : row) sum += g * g;
    return sum;
  }
  void step(double rate, double factor) {
    for (std::size_t i = 0; i < value.size(); ++i)
      for (std::size_t j = 0; j < value[i].size(); ++j) {
        velocity[i][j] = 0.9 * velocity[i][j] + gradient[i][j] * factor + 0.02 * value[i][j];
        value[i][j] -= rate * velocity[i][j];
        gradient[i][j] = 0;
      }
  }
};

// The perceptron and its training in plain loops.
struct Hand {
  Matrix x = by_hand(rows, inputs, 4, false), y = by_hand(rows, outputs, 5, false);
  HandWeight w1{by_hand(inputs, hidden, 1, true)}, b{by_hand(1, hidden, 2, true)},
      w2{by_hand(hidden, outputs, 3, true)};
  double loss = 0, norm = 0;

  void backward(std::size_t row) {
    std::array<double, hidden> h{}, dh{};
    for (std::size_t k = 0; k < hidden; ++k) {
      double sum = b.value[0][k];
      for (std::size_t i = 0; i < inputs; ++i) sum += x[row][i] * w1.value[i][k];
      h[k] = std::tanh(sum);
    }
    for (std::size_t j = 0; j < outputs; ++j) {
      double difference = -y[row][j];
      for (std::size_t k = 0; k < hidden; ++k) difference += h[k] * w2.value[k][j];
      loss += difference * difference / (rows * outputs);
      for (std::size_t k = 0; k < hidden; ++k) {
        w2.gradient[k][j] += 2 * difference * h[k] / (rows * outputs);
        dh[k] += 2 * difference * w2.value[k][j] / (rows * outputs);
      }
    }
    for (std::size_t k = 0; k < hidden; ++k) {
      const double inner = dh[k] * (1 - h[k] * h[k]);
      b.gradient[0][k] += inner;
      for (std::size_t i = 0; i < inputs; ++i) w1.gradient[i][k] += inner * x[row][i];
    }
  }

  void step(double rate) {
    loss = 0;
    for (std::size_t row = 0; row < rows; ++row) backward(row);
    norm = std::sqrt(w1.squares() + b.squares() + w2.squares());
    for (HandWeight* weight : {&w1, &b, &w2})
      weight->step(rate, std::min(0.4 / (norm + 1e-6), 1.0));
  }
};

void expect_equal(const Tensor& actual, const Matrix& expected) {
  std::int64_t i = 0;
  for (const auto& row : expected)
    for (const double value : row)
      EXPECT_NEAR(actual.at(i++), value, 1e-12 * std::abs(value) + 1e-15);
}

std::map<std::string, Tensor> initial_states(const Graph& graph) {
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states())
    states[state.name] =
        state.initial.kind == Initial::Kind::data
            ? state.initial.data.clone()
            : Tensor::full(state.type.dtype, known_dims(state.type.shape), state.initial.a);
  return states;
}

Tensor output(const Graph& graph, const std::vector<Tensor>& results, std::string_view name) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (graph.outputs()[i].name == name) return results[i];
  throw UsageError(concat("no output ", name));
}

TEST(training_graph, in_f64_trains_as_by_hand) {
  const Graph graph = make_training_graph(in_f64(perceptron()), optimizer_of_test());
  std::map<std::string, Tensor> states = initial_states(graph);
  const std::vector<Tensor> batch{filled(DType::f64, {rows, inputs}, 4),
                                  filled(DType::f64, {rows, outputs}, 5)};
  Hand hand;
  bool clipped = false, whole = false;
  for (const double rate : {0.15, 0.3, 0.3, 0.3 * 6 / 7, 0.3 * 5 / 7, 0.3 * 4 / 7}) {
    const std::vector<Tensor> results = interpret(graph, batch, {.states = &states});
    hand.step(rate);
    EXPECT_NEAR(output(graph, results, "learning_rate").at(0), rate, 1e-16);
    EXPECT_NEAR(output(graph, results, "loss").at(0), hand.loss, 1e-12 * hand.loss);
    EXPECT_NEAR(output(graph, results, "norm").at(0), hand.norm, 1e-12 * hand.norm);
    EXPECT_EQ(output(graph, results, "reason").at(0), 0);
    (hand.norm > 0.4 ? clipped : whole) = true;
  }
  EXPECT_TRUE(clipped && whole);
  expect_equal(states.at("w1"), hand.w1.value);
  expect_equal(states.at("b"), hand.b.value);
  expect_equal(states.at("w2"), hand.w2.value);
  expect_equal(states.at("w2.velocity"), hand.w2.velocity);
}

// Whether a node makes f32, but for an output that nobody reads.
bool makes_f32(const Node& node) {
  for (std::size_t o = 0; o < node.outputs.size(); ++o)
    if (node.outputs[o].type.dtype == DType::f32 &&
        node.op->output_port(static_cast<int>(o)).name != "narrow_weight")
      return true;
  return false;
}

TEST(training_graph, in_f64_has_no_f32) {
  for (const std::string& name : optimizer_names()) {
    Optimizer optimizer = parse_optimizer(name);
    optimizer.schedule.plateau.emplace();
    const Graph graph = make_training_graph(in_f64(perceptron()), optimizer);
    for (const Node& node : graph.nodes())
      EXPECT_FALSE(makes_f32(node)) << name << ' ' << node.name;
  }
}

// What all passes make of it computes the same: fused groups and kernels of f64.
TEST(training_graph, in_f64_runs_as_a_plan) {
  for (const std::string& name : optimizer_names()) {
    const Graph graph = make_training_graph(in_f64(perceptron()), parse_optimizer(name));
    std::map<std::string, Tensor> states = initial_states(graph);
    StateStore store;
    store.add(graph, 1);
    Executor executor(compile(graph, {}), store, 1);
    const std::vector<Tensor> batch{filled(DType::f64, {rows, inputs}, 4),
                                    filled(DType::f64, {rows, outputs}, 5)};
    for (int step = 0; step < 3; ++step) {
      interpret(graph, batch, {.states = &states});
      executor.run(batch);
    }
    for (const char* weight : {"w1", "b", "w2"})
      for (std::int64_t i = 0; i < states.at(weight).size(); ++i)
        EXPECT_NEAR(store.at(weight).at(i), states.at(weight).at(i), 1e-12) << name;
  }
}

TEST(training_graph, refuses_a_loss_that_is_no_scalar_of_f32_or_f64) {
  for (const char* type : {"f16[]", "f32[1]", "i64[]"}) {
    Graph graph;
    graph.output("loss", graph.input("x", TensorType::parse(type)));
    EXPECT_THROW(make_training_graph(graph, sgd(0.1)), UsageError) << type;
  }
}

TEST(training_graph, a_rate_factor_is_kept_and_lowers_the_rate) {
  Optimizer optimizer = sgd(0.5);
  EXPECT_EQ(make_training_graph(perceptron(), optimizer).find_state(rate_factor_name), nullptr);
  optimizer.schedule.plateau.emplace();
  const Graph graph = make_training_graph(perceptron(), optimizer);
  std::map<std::string, Tensor> states = initial_states(graph);
  const std::vector<Tensor> batch{filled(DType::f32, {rows, inputs}, 4),
                                  filled(DType::f32, {rows, outputs}, 5)};
  const auto rate = [&] {
    return output(graph, interpret(graph, batch, {.states = &states}), "learning_rate").at(0);
  };
  EXPECT_EQ(rate(), 0.5);
  states.at(std::string(rate_factor_name)).set(0, 0.25);
  EXPECT_EQ(rate(), 0.125);
  EXPECT_EQ(states.at(std::string(rate_factor_name)).at(0), 0.25);
}

TEST(training_graph, counts_overflows_only_with_hysteresis) {
  Optimizer optimizer = sgd(0.1);
  optimizer.loss_scale.kind = LossScale::Kind::dynamic;
  EXPECT_EQ(make_training_graph(perceptron(), optimizer).find_state(overflows_left_name), nullptr);
  optimizer.loss_scale.hysteresis = 2;
  const Graph graph = make_training_graph(perceptron(), optimizer);
  std::map<std::string, Tensor> states = initial_states(graph);
  const std::vector<Tensor> batch{filled(DType::f32, {rows, inputs}, 4),
                                  Tensor::full(DType::f32, {rows, outputs}, 1e4)};
  std::vector<double> scales;
  for (int step = 0; step < 3; ++step) {
    states.at(std::string(loss_scale_name)).set(0, 0x1p126);
    interpret(graph, batch, {.states = &states});
    scales.push_back(states.at(std::string(loss_scale_name)).at(0));
  }
  EXPECT_EQ(scales, (std::vector<double>{0x1p126, 0x1p125, 0x1p125}));
}

}  // namespace
}  // namespace narrowgauge::training_graph_test
