// SPDX-License-Identifier: Apache-2.0
// A quantised network, compiled to integer ops, gives what its nodes give one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compile/compile.h"
#include "ops/activation/relu.h"
#include "ops/composition/interpret.h"
#include "ops/convolution/conv.h"
#include "ops/index/gather.h"
#include "ops/math/gemm.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"
#include "ops/pool/average_pool.h"
#include "ops/pool/max_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/quantized/quantized_average_pool.h"
#include "ops/quantized/quantized_conv.h"
#include "ops/shape/views.h"
#include "passes/quantized/fuse_quantized.h"

namespace narrowgauge::quantized_test {
namespace {

// Adds to a graph what quantisation tools write.
class Builder {
 public:
  explicit Builder(DType activations) : bytes_(activations) {}

  Value input(const Shape& shape) { return graph_.input("x", {DType::f32, shape}); }
  // Quantised and dequantised with one scale.
  Value steps(Value x, double scale, double zero) {
    const Value s = number(scale), z = graph_.constant(Tensor::scalar(bytes_, zero));
    last_ = graph_.add(QuantizeLinear{}, {x, s, z});
    return graph_.add(DequantizeLinear{}, {last_, s, z});
  }
  // Quantised and dequantised with a scale for each channel, of which the last is the largest.
  Value channel_steps(Value x, double least, double most) {
    Tensor scales(DType::f32, {graph_.type(x).shape[1].value()});
    Tensor zeros(bytes_, scales.dims());
    for (std::int64_t i = 0; i < scales.size(); ++i)
      scales.set(i, least + (most - least) * static_cast<double>(i) /
                                static_cast<double>(scales.size() - 1));
    const Value s = graph_.constant(std::move(scales)), z = graph_.constant(std::move(zeros));
    last_ = graph_.add(QuantizeLinear{.axis = 1}, {x, s, z});
    return graph_.add(DequantizeLinear{.axis = 1}, {last_, s, z});
  }
  // Weights of i8, with a scale for each index of the axis.
  Value weights(const Dims& dims, std::int64_t axis) {
    Tensor values(DType::i8, dims), scales(DType::f32, {dims[static_cast<std::size_t>(axis)]});
    std::uniform_int_distribution<int> all(-127, 127);
    for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, all(random_));
    std::uniform_real_distribution<double> steps(0.001, 0.003);
    for (std::int64_t i = 0; i < scales.size(); ++i) scales.set(i, steps(random_));
    return graph_.add(DequantizeLinear{.axis = axis},
                      {graph_.constant(std::move(values)), graph_.constant(std::move(scales))});
  }
  Value bias(std::int64_t count) {
    Tensor values(DType::f32, {count});
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < count; ++i) values.set(i, normal(random_));
    return graph_.constant(std::move(values));
  }
  Value number(double value) { return graph_.constant(Tensor::scalar(DType::f32, value)); }
  template <class T>
  Value add(T op, Values inputs) {
    return graph_.add(std::move(op), std::move(inputs));
  }
  // Names the bytes that were made last.
  void name_steps(const std::string& name) { graph_.output(name, last_); }
  Graph& graph() { return graph_; }

 private:
  DType bytes_;
  Graph graph_;
  Value last_;
  std::mt19937 random_{11};
};

Graph network(DType activations) {
  Builder b(activations);
  const double zero = activations == DType::u8 ? 110 : -7,
               least = activations == DType::u8 ? 0 : -128;
  const Value x = b.steps(b.input({2, 3, 9, 9}), 0.03, zero);
  const Conv same{.pads = {1, 1, 1, 1}};
  const Value first = b.steps(
      b.add(Relu{}, {b.add(same, {x, b.weights({20, 3, 3, 3}, 0), b.bias(20)})}), 0.02, least);
  b.name_steps("first");
  Conv each = same;
  each.group = 20;
  const Value second = b.steps(b.add(each, {first, b.weights({20, 1, 3, 3}, 0)}), 0.03, zero);
  const Value sum = b.steps(b.add(Relu{}, {b.add(Add{}, {first, second})}), 0.03, least);
  const AveragePool around{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}};
  const Value average = b.steps(b.add(around, {sum}), 0.02, least);
  b.name_steps("average");
  const Value pooled =
      b.steps(b.add(MaxPool{.kernel_shape = {3, 3}, .strides = {3, 3}}, {average}), 0.02, least);
  const Value flat = b.steps(b.add(Flatten{}, {pooled}), 0.02, least);
  b.steps(b.add(Gemm{.transB = 1}, {flat, b.weights({10, 180}, 0), b.bias(10)}), 0.1, zero);
  b.name_steps("scores");
  return std::move(b.graph());
}

// A separable convolution as NNCF quantises what depthwise convolutions read; the Clip is at 6.
Graph separable(DType activations, double most_scale, std::int64_t outputs_of_each = 1) {
  Builder b(activations);
  const double zero = activations == DType::u8 ? 110 : -7;
  const Value x = b.steps(b.input({2, 3, 9, 9}), 0.03, zero);
  const auto clipped = [&](Value value) {
    return b.add(Clip{}, {value, b.number(0), b.number(6)});
  };
  const Conv same{.pads = {1, 1, 1, 1}};
  const Value first = b.channel_steps(
      clipped(b.add(same, {x, b.weights({20, 3, 3, 3}, 0), b.bias(20)})), 0.001, most_scale);
  Conv each = same;
  each.group = 20;
  const Value second = b.channel_steps(
      b.add(Relu{}, {b.add(each, {first, b.weights({20, 1, 3, 3}, 0), b.bias(20)})}), 0.002, 0.02);
  const Value third = b.add(each, {second, b.weights({20 * outputs_of_each, 1, 3, 3}, 0)});
  b.steps(third, 0.02, zero);
  b.name_steps("third");
  return std::move(b.graph());
}

template <class T>
std::int64_t count_of(const Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.is<T>(); });
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  return largest;
}

// Runs both on an image; they must be a step apart at most.
void expect_a_step(const Graph& compiled, const Graph& graph) {
  Tensor x(DType::f32, {2, 3, 9, 9});
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, normal(random));
  const Tensor given[] = {x};
  const auto expected = interpret(graph, given);
  const auto made = interpret(compiled, given, {.reference = false});
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t o = 0; o < made.size(); ++o) {
    ASSERT_EQ(made[o].type(), expected[o].type());
    EXPECT_LE(largest_difference(made[o], expected[o]), 1) << "output " << o;
  }
}

TEST(quantized, networks_run_on_bytes_and_give_what_their_nodes_give) {
  for (const DType activations : {DType::u8, DType::i8}) {
    const Graph graph = network(activations);
    const Graph compiled = run_pipeline(graph, {.target = Target::machine()});
    EXPECT_EQ(count_of<QuantizedConv>(compiled), 2) << print(compiled);
    EXPECT_EQ(count_of<QuantizedMatMul>(compiled), 1);
    EXPECT_EQ(count_of<QuantizedAveragePool>(compiled), 1);
    EXPECT_EQ(count_of<Conv>(compiled) + count_of<Gemm>(compiled), 0);
    EXPECT_EQ(count_of<DequantizeLinear>(compiled), 0);
    EXPECT_EQ(count_of<QuantizeLinear>(compiled), 1);  // of the input
    EXPECT_EQ(compiled.outputs().size(), 3U);
    expect_a_step(compiled, graph);
  }
}

TEST(quantized, scales_of_channels_become_part_of_the_weights_around_depthwise_convolutions) {
  for (const std::int64_t outputs : {1, 2}) {
    const Graph graph = separable(DType::u8, 0.023, outputs);
    const Graph compiled = run_pipeline(graph, {.target = Target::machine()});
    EXPECT_EQ(count_of<QuantizedConv>(compiled), 3) << print(compiled);
    EXPECT_EQ(count_of<QuantizeLinear>(compiled), 1);  // of the input
    EXPECT_EQ(count_of<DequantizeLinear>(compiled), 0);
    expect_a_step(compiled, graph);
  }
}

TEST(quantized, scales_of_channels_stay_where_a_bound_is_within_the_steps) {
  for (const auto& [bytes, most] : {std::pair(DType::u8, 0.025), std::pair(DType::i8, 0.06)}) {
    const Graph graph = separable(bytes, most);
    const Graph compiled = run_pipeline(graph, {.target = Target::machine()});
    EXPECT_EQ(count_of<QuantizedConv>(compiled), 2) << print(compiled);
    expect_a_step(compiled, graph);
  }
}

TEST(quantized, rows_of_a_table_are_taken_as_bytes) {
  Builder b(DType::u8);
  const Value table = b.weights({40, 24}, 0), ids = b.graph().input("ids", {DType::i64, {3, 2}});
  b.graph().output("rows", b.add(Gather{}, {table, ids}));
  const Graph compiled = run_pipeline(b.graph(), {.target = Target::machine()});
  EXPECT_EQ(count_of<DequantizeLinear>(compiled), 0) << print(compiled);
  Tensor numbers(DType::i64, {3, 2});
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, static_cast<double>(39 - 5 * i));
  const Tensor given[] = {numbers};
  EXPECT_EQ(largest_difference(interpret(compiled, given, {.reference = false})[0],
                               interpret(b.graph(), given)[0]),
            0);
}

TEST(quantized, graphs_whose_states_change_are_left_as_they_are) {
  Graph graph = network(DType::u8);
  const std::string before = print(fuse_quantized(graph));
  State moved;
  moved.name = "count";
  moved.type = {DType::f32, {}};
  const Value now = graph.state(std::move(moved));
  graph.set_next("count", graph.add(Relu{}, {now}));
  EXPECT_EQ(print(fuse_quantized(graph)), print(graph));
  EXPECT_NE(before, print(graph));
}

}  // namespace
}  // namespace narrowgauge::quantized_test
