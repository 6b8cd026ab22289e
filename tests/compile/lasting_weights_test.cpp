// SPDX-License-Identifier: Apache-2.0
// Weights that a network computes from others, as standardized ones, are packed once, also where a
// view stands between them and the contraction, and follow what they are made from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "compile/compile.h"
#include "ops/composition/interpret.h"
#include "ops/convolution/conv.h"
#include "ops/math/matmul.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/shape/reshape.h"
#include "runtime/executor.h"

namespace narrowgauge::lasting_weights_test {
namespace {

Tensor waves(const Dims& dims, double phase) {
  Tensor tensor(DType::f32, dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, std::sin(phase + 0.37 * static_cast<double>(i)));
  return tensor;
}

enum class Weights { state, constant };

Value weights_of(Graph& graph, Weights kind, const Dims& dims) {
  Tensor values = waves(dims, 1);
  if (kind == Weights::constant) return graph.constant(std::move(values), "w");
  return graph.state({"w", Role::parameter, values.type(), Initial::of(values), absent, absent});
}

// Weights standardized as timm writes it: each filter is a channel, normalized by its own numbers.
Value standardized(Graph& graph, Value w) {
  const Shape shape = graph.type(w).shape;
  const std::int64_t filters = shape[0].value();
  const Value rows = graph.add(ReshapeTo{{1, filters, element_count(shape) / Dim(filters)}}, {w});
  const Value one = graph.constant(Tensor::full(DType::f32, {filters}, 1));
  const Value zero = graph.constant(Tensor(DType::f32, {filters}));
  const Value normal = graph.add(BatchNormalization{.training_mode = 1},
                                 {rows, one, zero, zero, one}, {.name = "bn"});
  return graph.add(ReshapeTo{shape}, {normal});
}

Graph convolution(Weights kind, bool standardizes) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {1, 128, 14, 14}});
  const Value w = weights_of(graph, kind, {64, 128, 3, 3});
  const Conv conv{.pads = {1, 1, 1, 1}};
  graph.output("y", graph.add(conv, {x, standardizes ? standardized(graph, w) : w},
                              {.name = "conv", .math = Math::f32}));
  return graph;
}

// A product by a matrix, which may lie in one row.
Graph product(Weights kind, bool flat) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {8, 300}});
  Value w = weights_of(graph, kind, flat ? Dims{300 * 256} : Dims{300, 256});
  if (flat) w = graph.add(ReshapeTo{{300, 256}}, {w});
  graph.output("y", graph.add(MatMul{}, {x, w}, {.name = "product", .math = Math::f32}));
  return graph;
}

const PlanStep& step_of(const Plan& plan, std::string_view op) {
  const auto found = std::ranges::find(plan.steps, op, &PlanStep::op);
  require(found != plan.steps.end(), "no step ", op);
  return *found;
}

void expect_packed_alike(const Graph& graph, const Graph& plain, std::string_view op) {
  const Plan plan = compile(graph, {}), direct = compile(plain, {});
  const PlanStep &step = step_of(plan, op), &expected = step_of(direct, op);
  EXPECT_EQ(step.implementation, expected.implementation);
  ASSERT_EQ(step.packing.has_value(), expected.packing.has_value());
  if (step.packing) {
    EXPECT_EQ(plan.packings[*step.packing].packing.bytes,
              direct.packings[*expected.packing].packing.bytes);
  }
  for (const PlanStep& each : plan.steps)
    EXPECT_TRUE(each.op == op || each.op == "ng.Relayout" || !each.run) << each.node;
}

void expect_answers(const Graph& graph) {
  const std::vector<Tensor> inputs{waves(known_dims(graph.type(graph.inputs()[0]).shape), 2)};
  StateStore store;
  store.add(graph, 1);
  Executor executor(compile(graph, {}), store, 1);
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states()) states[state.name] = state.initial.data;
  const auto expect_near = [&] {
    const Tensor got = executor.run(inputs).at(0);
    const Tensor expected = interpret(graph, inputs, {.states = &states}).at(0);
    double largest = 0;
    for (std::int64_t i = 0; i < expected.size(); ++i)
      largest = std::max(largest, std::abs(expected.at(i)));
    for (std::int64_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), 1e-3 * largest) << i;
  };
  expect_near();
  for (auto& [name, value] : states) {
    value = waves(value.dims(), 5);
    store.set(name, value);
  }
  expect_near();
}

TEST(lasting_weights, that_are_standardized_are_packed_once) {
  for (const Weights kind : {Weights::state, Weights::constant}) {
    expect_packed_alike(convolution(kind, true), convolution(kind, false), "Conv");
    expect_answers(convolution(kind, true));
  }
}

TEST(lasting_weights, that_are_views_are_packed_once) {
  for (const Weights kind : {Weights::state, Weights::constant}) {
    expect_packed_alike(product(kind, true), product(kind, false), "MatMul");
    expect_answers(product(kind, true));
  }
}

}  // namespace
}  // namespace narrowgauge::lasting_weights_test
