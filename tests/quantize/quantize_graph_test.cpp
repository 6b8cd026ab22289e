// SPDX-License-Identifier: Apache-2.0
// Which values become bytes, and what the graph with them computes.
#include "quantize/quantize_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "api/conversion/frozen.h"
#include "narrowgauge/model.h"
#include "ops/convolution/conv.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pool/max_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/concat.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge::quantize_graph_test {
namespace {

Graph frozen(const BuildNetwork& build) { return frozen_graph(Model("net", build)); }

std::set<int> all_quantizable(const Graph& graph) {
  std::set<int> nodes;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (may_be_quantized(graph, i)) nodes.insert(i);
  return nodes;
}

// "conv1.0" for each port that reads bytes.
std::set<std::string> ports_of(const Graph& graph, const ByteValues& values) {
  std::set<std::string> names;
  for (const auto& [node, port] : values.ports)
    names.insert(concat(graph.node(node).full_name(), '.', port));
  return names;
}

Value images(Network& net) { return net.input("x", {net.batch(), 3, 8, 8}); }

Value residual_network(Network& net) {
  Value x = net.relu(net.conv(images(net), 4, {}, "stem"));
  Value y = net.conv(net.relu(net.conv(x, 4, {}, "a")), 4, {}, "b");
  x = net.relu(net.apply(Add{}, {y, x}, "sum"));
  x = net.flatten(net.global_average_pool(net.conv(x, 5, {}, "last")));
  return net.linear(x, 2, "logits");
}

TEST(ByteValues, an_addition_reads_bytes_where_it_is_no_epilogue) {
  const Graph graph = frozen(residual_network);
  const ByteValues values = byte_values(graph, all_quantizable(graph));
  const std::set<std::string> ports = ports_of(graph, values);
  EXPECT_TRUE(ports.contains("a.0"));
  EXPECT_TRUE(ports.contains("sum.1"));   // the stem, which `a` reads too
  EXPECT_FALSE(ports.contains("sum.0"));  // what `b` makes for the sum alone
  EXPECT_TRUE(ports.contains("logits.0"));
}

TEST(ByteValues, only_what_is_converted_reads_bytes) {
  const Graph graph = frozen(residual_network);
  const int last = graph.find_node("last");
  ASSERT_GE(last, 0);
  const std::set<std::string> ports = ports_of(graph, byte_values(graph, {last}));
  EXPECT_TRUE(ports.contains("last.0"));
  EXPECT_FALSE(ports.contains("a.0"));
  EXPECT_FALSE(ports.contains("logits.0"));
  EXPECT_TRUE(ports.contains("sum.0"));  // whose sum `last` reads; `b` is in f32
}

TEST(ByteValues, pools_and_concatenations_share_a_format) {
  const Graph graph = frozen([](Network& net) {
    const Value x = images(net);
    const Value a = net.max_pool(net.conv(x, 4, {}, "a"));
    const Value b = net.max_pool(net.conv(x, 4, {}, "b"));
    return net.conv(net.concat({a, b}, 1), 2, {}, "c");
  });
  const ByteValues values = byte_values(graph, all_quantizable(graph));
  const auto group_with = [&](const char* name) {
    const Value value{graph.find_node(name), 0};
    return std::ranges::find_if(
               values.groups,
               [&](const auto& group) { return std::ranges::count(group, value) > 0; }) -
           values.groups.begin();
  };
  EXPECT_EQ(group_with("a"), group_with("b"));
  EXPECT_LT(group_with("a"), std::ssize(values.groups));
  EXPECT_NE(group_with("a"), group_with("x"));
}

// `a` goes into two convolutions, of which one reads it beside values that are a hundred times as
// large; `b` goes there alone.
Value branches_of_two_sizes(Network& net) {
  const Value x = images(net);
  const Value a = net.relu(net.conv(x, 4, {}, "a"));
  const Value large = net.parameter("large", {}, Initial::constant(100));
  const Value b = net.apply(Mul{}, {net.relu(net.conv(x, 4, {}, "b")), large}, "wide");
  const Value joined = net.conv(net.concat({a, b}, 1), 2, {}, "joined");
  return net.concat({net.conv(a, 2, {}, "alone"), joined}, 1);
}

TEST(ByteValues, a_value_keeps_its_own_scale_where_a_concatenation_has_a_coarser_one) {
  const Graph graph = frozen(branches_of_two_sizes);
  const auto groups_by = [&](double size_of_wide) {
    const ByteValues values = byte_values(graph, all_quantizable(graph), [&](Value value) {
      const std::string& name = graph.producer(value).name;
      return graph.producer(value).is<Concat>() || name == "wide" ? size_of_wide : 1.0;
    });
    std::map<std::string, std::size_t> groups;
    for (std::size_t g = 0; g < values.groups.size(); ++g)
      for (const Value value : values.groups[g]) groups[graph.value_name(value)] = g;
    return groups;
  };
  const std::string a = graph.value_name(graph.node(graph.find_node("alone")).input(0));
  const std::string all = graph.value_name(graph.node(graph.find_node("joined")).input(0));
  auto groups = groups_by(100);
  EXPECT_NE(groups.at(a), groups.at(all));
  EXPECT_EQ(groups.at("wide"), groups.at(all));  // which nobody else reads
  groups = groups_by(1.2);
  EXPECT_EQ(groups.at(a), groups.at(all));
}

TEST(ByteValues, maxima_of_a_much_coarser_value_are_made_from_f32) {
  const Graph graph = frozen([](Network& net) {
    const Value wide = net.relu(net.conv(images(net), 4, {}, "wide"));
    const Value maxima = net.apply(MaxPool{.kernel_shape = {1, 1}}, {wide}, "maxima");
    return net.concat({net.conv(wide, 2, {}, "of_all"), net.conv(maxima, 2, {}, "of_maxima")}, 1);
  });
  const auto ports_with = [&](double size_of_wide) {
    return ports_of(graph, byte_values(graph, all_quantizable(graph), [&](Value value) {
                      return graph.producer(value).name == "maxima" ? 1 : size_of_wide;
                    }));
  };
  EXPECT_TRUE(ports_with(2).contains("maxima.0"));
  EXPECT_FALSE(ports_with(10).contains("maxima.0"));
  EXPECT_TRUE(ports_with(10).contains("of_maxima.0"));
}

TEST(ByteValues, a_concatenation_that_has_a_much_finer_part_is_made_from_f32) {
  const Graph graph = frozen([](Network& net) {
    const Value x = images(net);
    const Value a = net.relu(net.conv(x, 2, {}, "a"));
    const Value b = net.relu(net.conv(x, 2, {}, "b"));
    const Value both = net.reshape(net.concat({a, b}, 1, "both"), {net.batch(), 4, 4, 16}, "view");
    const Value part = net.conv(net.slice(both, 1, 0, 2, "part"), 2, {}, "of_part");
    return net.concat({net.conv(both, 2, {}, "of_all"), part}, 1);
  });
  const auto ports_with = [&](double size_of_whole) {
    return ports_of(graph, byte_values(graph, all_quantizable(graph), [&](Value value) {
                      return graph.producer(value).name == "part" ? 1 : size_of_whole;
                    }));
  };
  for (const char* const port : {"both.0", "both.1", "view.0"}) {
    EXPECT_TRUE(ports_with(2).contains(port)) << port;
    EXPECT_FALSE(ports_with(10).contains(port)) << port;
  }
  EXPECT_TRUE(ports_with(10).contains("of_all.0"));
}

TEST(ByteValues, a_sum_that_a_normalization_reads_stays_f32) {
  const Graph graph = frozen([](Network& net) {
    const Value x = net.input("x", {net.batch(), 6, 8});
    const Value sum = net.apply(Add{}, {net.linear(x, 8, "first"), x}, "sum");
    return net.linear(net.layer_norm(sum), 4, "second");
  });
  const std::set<std::string> ports = ports_of(graph, byte_values(graph, all_quantizable(graph)));
  EXPECT_FALSE(ports.contains("sum.0"));
  EXPECT_FALSE(ports.contains("sum.1"));
}

// Weights and activations in [-1, 1], which bytes hold to 1/254 and 1/255.
Quantization with_usual_formats(const Graph& graph) {
  Quantization made{all_quantizable(graph), {}, {}, {}};
  made.values = byte_values(graph, made.contractions);
  for (const auto& group : made.values.groups)
    for (const Value value : group) made.formats[value] = affine_format({-4, 4}, DType::u8);
  return made;
}

TEST(QuantizeGraph, computes_the_network_to_rounding) {
  const Graph graph = frozen(residual_network);
  const Graph quantized = remove_dead_code(quantize_graph(graph, with_usual_formats(graph)));
  Tensor input(DType::f32, {2, 3, 8, 8});
  for (std::int64_t i = 0; i < input.size(); ++i) input.set(i, std::sin(static_cast<double>(i)));
  const Tensor want = FrozenNetwork(graph, true).run({&input, 1})[0];
  const Tensor got = FrozenNetwork(quantized, true).run({&input, 1})[0];
  double squares = 0, errors = 0;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    squares += want.at(i) * want.at(i);
    errors += (got.at(i) - want.at(i)) * (got.at(i) - want.at(i));
  }
  EXPECT_LT(std::sqrt(errors / squares), 0.1);
  EXPECT_GT(errors, 0);
}

TEST(QuantizeGraph, weights_are_bytes_with_a_scale_for_each_channel) {
  const Graph graph = frozen(residual_network);
  const Graph quantized = remove_dead_code(quantize_graph(graph, with_usual_formats(graph)));
  int weights = 0;
  for (const Node& node : quantized.nodes()) {
    if (!node.is<Conv>()) continue;
    const Node& from = quantized.producer(node.input(1));
    ASSERT_TRUE(from.is<DequantizeLinear>()) << node.name;
    EXPECT_EQ(quantized.type(from.input(0)).dtype, DType::i8);
    EXPECT_EQ(quantized.type(from.input(1)).shape[0], quantized.type(node.input(1)).shape[0]);
    const Node& bias = quantized.producer(node.input(2));
    ASSERT_TRUE(bias.is<DequantizeLinear>()) << node.name;
    EXPECT_EQ(quantized.type(bias.input(0)).dtype, DType::i32);
    ++weights;
  }
  EXPECT_EQ(weights, 4);
}

TEST(QuantizeGraph, a_bias_too_large_for_its_unit_stays_f32) {
  const Graph graph = frozen([](Network& net) {
    Value x = net.input("x", {net.batch(), 4});
    const Value w = net.parameter("w", {2, 4}, Initial::constant(1e-20));
    const Value b = net.parameter("b", {2}, Initial::constant(100));
    return net.op("Gemm", {x, w, b}, "transB=1");
  });
  const Graph quantized = quantize_graph(graph, with_usual_formats(graph));
  const Node& last = quantized.producer(quantized.outputs()[0].value);
  EXPECT_EQ(quantized.constant_value(last.input(2))->at(0), 100);
}

TEST(QuantizeGraph, a_shift_is_added_to_the_bias) {
  const Graph graph = frozen([](Network& net) {
    return net.linear(net.input("x", {net.batch(), 4}), 2, "last");
  });
  Quantization made = with_usual_formats(graph);
  made.bias_shifts[*made.contractions.begin()] = Tensor::full(DType::f32, {2}, 0.5);
  const Tensor input(DType::f32, {1, 4});
  const Tensor plain = FrozenNetwork(graph, true).run({&input, 1})[0];
  const Tensor moved =
      FrozenNetwork(remove_dead_code(quantize_graph(graph, made)), true).run({&input, 1})[0];
  for (std::int64_t i = 0; i < 2; ++i) EXPECT_NEAR(moved.at(i) - plain.at(i), 0.5, 0.01);
}

}  // namespace
}  // namespace narrowgauge::quantize_graph_test
