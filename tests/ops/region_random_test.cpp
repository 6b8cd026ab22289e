// SPDX-License-Identifier: Apache-2.0
// Random ops in regions: drawn anew for each node and iteration, and again by the gradient.
#include <gtest/gtest.h>

#include "ops/composition/interpret.h"
#include "ops/control/control_flow.h"
#include "ops/nn/dropout.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/comparison.h"
#include "passes/training/differentiate.h"

namespace narrowgauge::region_random_test {
namespace {

constexpr std::int64_t width = 64, length = 5;
const TensorType row = TensorType::parse("f32[64]");

Value drop(Graph& graph, Value x, std::int64_t seed) {
  const Value ratio = graph.constant(Tensor::scalar(DType::f32, 0.5));
  const Value training = graph.constant(Tensor::scalar(DType::boolean, 1));
  return graph.add(Dropout{.seed = seed}, {x, ratio, training}, {.name = "drop"});
}

Tensor ones(Dims dims) { return Tensor::full(DType::f32, std::move(dims), 1); }

// Rows of a stacked tensor that are equal to an earlier one.
int repeated_rows(const Tensor& stacked) {
  const auto values = stacked.values<float>();
  int repeated = 0;
  for (std::int64_t t = 1; t < length; ++t)
    for (std::int64_t s = 0; s < t; ++s)
      repeated += std::equal(values.begin() + t * width, values.begin() + (t + 1) * width,
                             values.begin() + s * width);
  return repeated;
}

// (h, x) -> (h + drop(x), drop(x))
Region scan_body(std::int64_t seed) {
  Graph body("body");
  const Value h = body.input("h", row), x = body.input("x", row);
  const Value dropped = drop(body, x, seed);
  body.output("h", body.add(Add{}, {h, dropped}));
  body.output("dropped", dropped);
  return std::make_shared<const Graph>(std::move(body));
}

TEST(region_random, each_iteration_of_a_scan_draws_anew) {
  for (const std::int64_t seed : {-1, 7}) {
    Graph graph;
    const Value h = graph.input("h", row);
    const Value xs = graph.input("xs", {DType::f32, {length, width}});
    const Value scan = graph.add(Scan{scan_body(seed), 1, 0, {}, {}}, {h, xs});
    graph.output("dropped", {scan.node, 1});
    const Tensor given[] = {ones({width}), ones({length, width})};
    const Tensor dropped = interpret(graph, given)[0];
    EXPECT_EQ(repeated_rows(dropped), 0);
    EXPECT_TRUE(dropped.same_bits(interpret(graph, given)[0]));
    EXPECT_FALSE(dropped.same_bits(interpret(graph, given, {.context = {0, 1}})[0]));
  }
}

TEST(region_random, each_iteration_of_a_loop_draws_anew) {
  Graph body("body");
  body.input("iteration", TensorType::parse("i64[]"));
  const Value going = body.input("going", TensorType::parse("bool[]"));
  const Value x = body.input("x", row);
  body.output("going", going);
  body.output("dropped", drop(body, x, -1));
  Graph graph;
  const Value trips = graph.constant(Tensor::scalar(DType::i64, length));
  const Region region = std::make_shared<const Graph>(std::move(body));
  graph.output("dropped", graph.add(Loop{region, 0}, {trips, absent, graph.input("x", row)}));
  const Tensor given[] = {ones({width})};
  EXPECT_EQ(repeated_rows(interpret(graph, given)[0]), 0);
}

Region branch() {
  Graph body("branch");
  body.output("y", drop(body, body.input("x", row), -1));
  return std::make_shared<const Graph>(std::move(body));
}

TEST(region_random, nodes_with_equal_regions_draw_differently) {
  Graph graph;
  const Value yes = graph.constant(Tensor::scalar(DType::boolean, 1));
  const Value x = graph.input("x", row);
  graph.output("a", graph.add(If{branch(), branch()}, {yes, x}));
  graph.output("b", graph.add(If{branch(), branch()}, {yes, x}));
  const Tensor given[] = {ones({width})};
  const std::vector<Tensor> results = interpret(graph, given);
  EXPECT_FALSE(results[0].same_bits(results[1]));
}

// The output for ones is the mask over the share kept, and so is the gradient of the input.
TEST(region_random, a_gradient_draws_what_the_forward_region_drew) {
  Graph graph;
  const Value yes = graph.constant(Tensor::scalar(DType::boolean, 1));
  const Value h = graph.input("h", row), x = graph.input("x", row);
  const Value xs = graph.input("xs", {DType::f32, {length, width}});
  const Value chosen = graph.add(If{branch(), branch()}, {yes, x});
  const Value scan = graph.add(Scan{scan_body(-1), 1, 0, {}, {}}, {h, xs});
  graph.output("chosen", chosen);
  graph.output("dropped", {scan.node, 1});
  const Value seed = graph.constant(ones({width}));
  const Value outputs[] = {chosen, scan}, seeds[] = {seed, seed};
  const Values gradients = append_gradients(graph, outputs, seeds, Values{x, xs});
  graph.output("dx", gradients[0]);
  graph.output("dxs", gradients[1]);
  const Tensor given[] = {ones({width}), ones({width}), ones({length, width})};
  const std::vector<Tensor> results = interpret(graph, given);
  EXPECT_TRUE(results[2].same_bits(results[0]));
  EXPECT_TRUE(results[3].same_bits(results[1]));
}

// The body adds drop(x) to a, and goes on before iteration `last`, or always if that is negative.
Region loop_body(double last) {
  Graph body("body");
  const Value iteration = body.input("iteration", TensorType::parse("i64[]"));
  const Value going = body.input("going", TensorType::parse("bool[]"));
  const Value a = body.input("a", row), x = body.input("x", row);
  const Value before =
      body.add(Less{}, {iteration, body.constant(Tensor::scalar(DType::i64, last))});
  body.output("going", last < 0 ? body.add(Identity{}, {going}) : before);
  body.output("a", body.add(Add{}, {a, drop(body, x, -1)}));
  return std::make_shared<const Graph>(std::move(body));
}

// Gradients of the loop by a and x; `trips` is M.
std::vector<Tensor> loop_gradients(double last, bool is_known) {
  Graph graph;
  const Value a = graph.input("a", row), x = graph.input("x", row);
  const TensorType number = TensorType::parse("i64[]");
  const Value trips =
      is_known ? graph.constant(Tensor::scalar(DType::i64, length)) : graph.input("trips", number);
  const Value y = graph.add(Loop{loop_body(last), 1}, {trips, absent, a, x});
  const Value seed = graph.constant(ones({width}));
  const Values gradients =
      append_gradients(graph, std::span(&y, 1), std::span(&seed, 1), Values{a, x});
  graph.output("y", y);
  graph.output("da", gradients[0]);
  graph.output("dx", gradients[1]);
  return interpret(graph, std::vector{Tensor(DType::f32, {width}), ones({width})});
}

// The output for a = 0 and x = 1 is the sum of the masks over the share kept, and so is dx.
TEST(region_random, a_gradient_of_a_loop_draws_what_the_loop_drew) {
  const std::vector<Tensor> results = loop_gradients(-1, true);
  EXPECT_TRUE(results[1].same_bits(ones({width})));
  EXPECT_TRUE(results[2].same_bits(results[0]));
  EXPECT_FALSE(results[0].same_bits(ones({width})));
}

TEST(region_random, a_loop_without_a_last_iteration_has_no_gradient) {
  const auto refusal = [](double last, bool is_known) -> std::string {
    try {
      loop_gradients(last, is_known);
    } catch (const ModelError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(-1, false),
            "Loop: its gradient needs a known number of iterations below 2^31, got none");
  EXPECT_NE(refusal(2, true).find("a loop that draws random numbers"), std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::region_random_test
