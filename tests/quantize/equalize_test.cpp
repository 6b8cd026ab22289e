// SPDX-License-Identifier: Apache-2.0
#include "quantize/equalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/activation/relu.h"
#include "ops/activation/sigmoid.h"
#include "ops/composition/interpret.h"
#include "ops/convolution/conv.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"
#include "quantize/values.h"

namespace narrowgauge::equalize_test {
namespace {

using namespace testing_values;

// Normal numbers, each channel of each side with a scale of its own.
Tensor uneven_weights(const Dims& dims, unsigned seed) {
  const auto count = static_cast<std::size_t>(element_count(dims));
  const Floats values = normal(count, 0.3f, seed),
               scales = normal(static_cast<std::size_t>(dims[0] + dims[1]), 2, seed + 1000);
  Floats scaled(count);
  const auto inputs = static_cast<std::size_t>(dims[1]);
  const std::size_t taps = count / (static_cast<std::size_t>(dims[0]) * inputs);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t output = i / taps / inputs, input = i / taps % inputs;
    scaled[i] =
        values[i] * std::exp2(scales[output] + scales[static_cast<std::size_t>(dims[0]) + input]);
  }
  return Tensor::from(dims, scaled);
}

// A network of convolutions under construction.
class Network {
 public:
  explicit Network(std::int64_t channels) {
    x_ = graph_.input("x", {DType::f32, {2, channels, 7, 7}});
  }
  // Adds a convolution with a window of size 3 or 1, padded to keep the size.
  Network& conv(std::int64_t channels, std::int64_t window, std::int64_t group = 1,
                bool has_bias = true) {
    const std::int64_t inputs = graph_.type(x_).shape[1].value();
    const unsigned seed = 7 * ++count_;
    const Value w = graph_.constant(
        uneven_weights({channels, inputs / group, window, window}, seed), concat("w", count_));
    Values all{x_, w};
    if (has_bias)
      all.push_back(graph_.constant(
          Tensor::from({channels}, normal(static_cast<std::size_t>(channels), 1, seed + 1)),
          concat("b", count_)));
    return with(Conv{.group = group, .pads = Dims(4, window / 2)}, all, concat("conv", count_));
  }
  Network& relu() { return with(Relu{}, {x_}); }
  Network& clip(double low, double high) {
    const Value least = graph_.constant(Tensor::scalar(DType::f32, low));
    const Value most =
        std::isinf(high) ? absent : graph_.constant(Tensor::scalar(DType::f32, high));
    return with(Clip{}, {x_, least, most});
  }
  template <class T>
  Network& with(T op, Values inputs, std::string name = "") {
    x_ = graph_.add(std::move(op), std::move(inputs), {.name = std::move(name)});
    return *this;
  }
  Value value() const { return x_; }
  Graph& graph() { return graph_; }
  Graph finish() {
    graph_.output("y", x_);
    verify(graph_, Stage::built);
    return graph_;
  }

 private:
  Graph graph_{"g"};
  Value x_;
  unsigned count_ = 0;
};

Tensor weights_of(const Graph& graph, const std::string& conv) {
  return *graph.constant_value(graph.node(graph.find_node(conv)).inputs[1]);
}

// The largest weight of each channel of a side.
std::vector<double> ranges(const Graph& graph, const std::string& conv, bool of_inputs) {
  const Tensor w = weights_of(graph, conv);
  const std::int64_t group = graph.node(graph.find_node(conv)).as<Conv>().group;
  const std::int64_t taps = w.dims()[2] * w.dims()[3], inputs = w.dims()[1], outputs = w.dims()[0];
  std::vector<double> most(static_cast<std::size_t>(of_inputs ? inputs * group : outputs));
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const std::int64_t output = i / taps / inputs, input = i / taps % inputs;
    const std::int64_t channel = of_inputs ? output / (outputs / group) * inputs + input : output;
    double& each = most[static_cast<std::size_t>(channel)];
    each = std::max(each, std::abs(w.at(i)));
  }
  return most;
}

void expect_equal_ranges(const Graph& graph, const std::string& first, const std::string& second) {
  const auto a = ranges(graph, first, false), b = ranges(graph, second, true);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i] / b[i], 1, 1e-4) << first << ' ' << i;
}

Tensor output_of(const Graph& graph) {
  const Dims dims = known_dims(graph.type(graph.inputs()[0]).shape);
  const Tensor x = Tensor::from(dims, normal(static_cast<std::size_t>(element_count(dims)), 1, 99));
  return interpret(graph, std::vector{x})[0];
}

void expect_same_results(const Graph& before, const Graph& after) {
  verify(after, Stage::built);
  const Tensor a = output_of(before), b = output_of(after);
  ASSERT_EQ(a.dims(), b.dims());
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.at(i)));
  for (std::int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.at(i), b.at(i), 1e-5 * most);
}

void expect_unchanged(Network& network, const EqualizeOptions& options = {}) {
  const Graph graph = network.finish();
  EXPECT_EQ(print(equalize(graph, options)), print(graph));
}

TEST(equalize, channels_between_convolutions_get_equal_ranges) {
  const Graph before =
      Network(3).conv(8, 3).relu().conv(6, 1).conv(5, 3, 1, false).relu().conv(4, 1).finish();
  const Graph after = equalize(before);
  expect_same_results(before, after);
  for (int i = 1; i < 4; ++i) expect_equal_ranges(after, concat("conv", i), concat("conv", i + 1));
  EXPECT_EQ(ranges(after, "conv1", true).size(), 3u);
  EXPECT_EQ(after.nodes().size(), before.nodes().size());
}

TEST(equalize, groups) {
  const Graph before = Network(4).conv(8, 3, 2).relu().conv(12, 3, 4).relu().conv(6, 1, 2).finish();
  const Graph after = equalize(before);
  expect_same_results(before, after);
  expect_equal_ranges(after, "conv1", "conv2");
  expect_equal_ranges(after, "conv2", "conv3");
}

TEST(equalize, with_a_depthwise_convolution_between_all_three_share_the_geometric_mean) {
  const Graph before = Network(3).conv(8, 1).relu().conv(8, 3, 8).relu().conv(5, 1).finish();
  const Graph after = equalize(before);
  expect_same_results(before, after);
  const auto a = ranges(before, "conv1", false), b = ranges(before, "conv2", false),
             c = ranges(before, "conv3", true);
  for (std::size_t i = 0; i < 8; ++i) {
    const double mean = std::cbrt(a[i] * b[i] * c[i]);
    EXPECT_NEAR(ranges(after, "conv1", false)[i] / mean, 1, 1e-4);
    EXPECT_NEAR(ranges(after, "conv2", false)[i] / mean, 1, 1e-4);
    EXPECT_NEAR(ranges(after, "conv3", true)[i] / mean, 1, 1e-4);
  }
}

TEST(equalize, an_equalized_graph_stays_as_it_is) {
  const Graph once = equalize(Network(3).conv(8, 3).relu().conv(6, 1).finish());
  const Graph twice = equalize(once);
  for (const char* conv : {"conv1", "conv2"}) {
    const Tensor a = weights_of(once, conv), b = weights_of(twice, conv);
    for (std::int64_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a.at(i), b.at(i), 1e-6 * std::abs(a.at(i)));
  }
}

TEST(equalize, a_clip_at_zero_is_a_relu) {
  const Graph before = Network(3).conv(8, 3).clip(0, INFINITY).conv(6, 1).finish();
  const Graph after = equalize(before);
  expect_same_results(before, after);
  expect_equal_ranges(after, "conv1", "conv2");
}

TEST(equalize, a_clip_from_above_becomes_a_relu_only_where_that_is_wanted) {
  Network clipped = Network(3).conv(8, 3).clip(0, 6).conv(6, 1);
  Network plain = Network(3).conv(8, 3).relu().conv(6, 1);
  const Graph after = equalize(clipped.finish(), {.clip_as_relu = true});
  expect_same_results(plain.finish(), after);
  expect_equal_ranges(after, "conv1", "conv2");
  Network again = Network(3).conv(8, 3).clip(0, 6).conv(6, 1);
  expect_unchanged(again);
}

TEST(equalize, other_clips_stay) {
  for (const auto& [low, high] : {std::pair(-1.0, 6.0), std::pair(1.0, 6.0), std::pair(0.0, 0.0)}) {
    Network network = Network(3).conv(8, 3).clip(low, high).conv(6, 1);
    expect_unchanged(network, {.clip_as_relu = true});
  }
}

TEST(equalize, leaves_other_neighbours) {
  Network sigmoid = Network(3).conv(8, 3);
  sigmoid.with(Sigmoid{}, {sigmoid.value()}).conv(6, 1);
  expect_unchanged(sigmoid);

  Network read_twice = Network(3).conv(8, 3).relu();
  const Value middle = read_twice.value();
  read_twice.conv(8, 1);
  read_twice.with(Add{}, {middle, read_twice.value()});
  expect_unchanged(read_twice);

  Network leaves = Network(3).conv(8, 3).relu();
  leaves.graph().output("middle", leaves.value());
  leaves.conv(8, 1);
  expect_unchanged(leaves);

  Network trained = Network(3).conv(8, 3).relu();
  const Value w = trained.graph().state({.name = "w",
                                         .type = {DType::f32, {4, 8, 1, 1}},
                                         .initial = Initial::constant(1),
                                         .current = {},
                                         .next = {}});
  trained.with(Conv{}, {trained.value(), w});
  expect_unchanged(trained);
}

TEST(equalize, channels_without_weights_keep_their_bias) {
  Network network(2);
  Graph& g = network.graph();
  const Value w1 = g.constant(Tensor::from<float>({4, 2, 1, 1}, Floats{8, 4, 0, 0, 1e-9f, 0, 2, 1}),
                              "w1"),
              b1 = g.constant(Tensor::from<float>({4}, Floats{1, 2, 3, 4}), "b1"),
              w2 = g.constant(Tensor::from<float>({1, 4, 1, 1}, Floats{2, 1, 1, 0}), "w2");
  network.with(Conv{}, {network.value(), w1, b1}, "conv1").relu();
  network.with(Conv{}, {network.value(), w2}, "conv2");
  const Graph before = network.finish(), after = equalize(before);
  expect_same_results(before, after);
  const Tensor* bias = after.constant_value(after.node(after.find_node("conv1")).inputs[2]);
  EXPECT_EQ(bias->at(0), 0.5);  // by sqrt(8 / 2)
  EXPECT_EQ(bias->at(1), 2);
  EXPECT_EQ(bias->at(2), 3);
  EXPECT_EQ(bias->at(3), 4);
}

TEST(equalize, convolutions_that_share_weights_get_their_own) {
  Network network = Network(4).conv(4, 1).relu();
  const Node& conv = network.graph().node(network.graph().find_node("conv1"));
  const Value w = conv.inputs[1], b = conv.inputs[2];
  network.with(Conv{}, {network.value(), w, b}, "conv2");
  const Graph before = network.finish(), after = equalize(before);
  expect_same_results(before, after);
  expect_equal_ranges(after, "conv1", "conv2");
  EXPECT_FALSE(weights_of(after, "conv1").same_bits(weights_of(after, "conv2")));
}

}  // namespace
}  // namespace narrowgauge::equalize_test
