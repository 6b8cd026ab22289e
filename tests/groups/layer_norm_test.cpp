// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/machine/cpu.h"
#include "base/random.h"
#include "base/threads/parallel.h"
#include "compile/compile.h"
#include "kernels/each_isa.h"
#include "ops/nn/dropout.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/table.h"
#include "passes/fusion/form_groups.h"
#include "runtime/executor.h"
#include "support/count.h"

namespace narrowgauge::layer_norm_test {
namespace {

// A transformer's dropout, sum and normalization twice, with the gradient of the second: its dy
// comes from three places, and flows on through the sum and the dropout.
struct Network {
  Graph graph;
  DType dtype;
  Shape shape{3, 5, 70};

  explicit Network(DType d, double ratio = 0.25) : dtype(d) {
    const Value x = input("x"), onto = input("onto");
    const Value scale = graph.input("scale", {DType::f32, {70}});
    const Value bias = graph.input("bias", {DType::f32, {70}});
    const Value rate = graph.constant(Tensor::scalar(DType::f32, ratio));
    const Value training = graph.constant(Tensor::scalar(DType::boolean, 1));
    const Value first = graph.add(LayerNormalization{}, {graph.add(Add{}, {x, onto}), scale, bias});
    const Value dropped = graph.add(Dropout{}, {first, rate, training}, {.name = "drop"});
    const Value sum = graph.add(Add{}, {onto, dropped});
    const Value second = graph.add(LayerNormalization{.epsilon = 1e-3}, {sum, scale});
    output({first, {first.node, 1}, {first.node, 2}});
    output({second, sum, {dropped.node, 1}});
    const Value a = input("a"), b = input("b"), c = input("c");
    const Value dy = graph.add(Add{}, {c, graph.add(Add{}, {a, b})});
    const Value dx = graph.add(LayerNormalizationGradient{},
                               {dy, sum, scale, {second.node, 1}, {second.node, 2}});
    const Value mask{dropped.node, 1};
    output({dx, {dx.node, 1}, {dx.node, 2}});
    output({graph.add(DropoutGradient{}, {dx, mask, rate, training})});
  }

  Value input(const char* name) { return graph.input(name, {dtype, shape}); }
  void output(const Values& values) {
    for (const Value value : values) graph.output(concat("out", graph.outputs().size()), value);
  }

  std::vector<Tensor> run(bool fuse, int threads = 2, double special = 1) const {
    std::vector<Tensor> inputs;
    for (const Value& value : graph.inputs()) {
      const TensorType& type = graph.type(value);
      inputs.emplace_back(type.dtype, known_dims(type.shape));
      const RandomStream random(5, graph.value_name(value));
      for (std::int64_t i = 0; i < inputs.back().size(); ++i)
        inputs.back().set(i, random.normal(static_cast<std::uint64_t>(i)) + 0.5F);
    }
    inputs[1].set(70, special);
    StateStore store;
    CompileOptions options;
    options.fuse = fuse;
    options.deterministic = true;
    const ThreadScope scope(threads);
    Executor executor(compile(graph, options), store, 3);
    return executor.run(inputs);
  }
};

TEST(layer_norm_group, takes_dropouts_and_sums_to_the_normalizations) {
  const Graph fused = form_groups(Network(DType::bf16).graph, {.isa = Isa::amx});
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 3) << print(fused);
  for (const char* op : {"Add", "Dropout", "LayerNormalization", "ng.DropoutGradient"})
    EXPECT_EQ(count(fused, op), 0) << op;
}

TEST(layer_norm_group, leaves_what_no_kernel_takes) {
  const Graph wide = Network(DType::f64).graph;
  EXPECT_EQ(print(form_groups(wide, {.isa = Isa::amx})), print(wide));
}

TEST(layer_norm_group, leaves_a_dropout_that_somebody_else_reads) {
  Network network(DType::f32);
  network.output({{network.graph.find_node("drop"), 0}});
  const Graph fused = form_groups(network.graph, {.isa = Isa::amx});
  EXPECT_EQ(count(fused, "Dropout"), 1);
  EXPECT_EQ(count(fused, "Add"), 0);
}

TEST(layer_norm_group, values_are_those_of_the_nodes_apart) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Network network(dtype);
    const std::vector<Tensor> apart = network.run(false), fused = network.run(true);
    const double bound = dtype == DType::f32 ? 2e-6 : dtype == DType::f16 ? 2e-3 : 2e-2;
    for (std::size_t o = 0; o < apart.size(); ++o) {
      double largest = 0;
      for (std::int64_t i = 0; i < apart[o].size(); ++i)
        largest = std::max(largest, std::abs(apart[o].at(i)));
      EXPECT_GT(largest, 0.5) << o;
      for (std::int64_t i = 0; i < apart[o].size(); ++i)
        ASSERT_NEAR(apart[o].at(i), fused[o].at(i), bound * largest) << o << " at " << i;
    }
    EXPECT_TRUE(apart[5].same_bits(fused[5])) << "another mask";
  }
}

// A term in bf16, and y as bytes, with and without y itself.
Graph quantized_network(DType bytes, bool reads_y) {
  Graph graph;
  const Value x = graph.input("x", {DType::bf16, {37, 600}});
  const Value onto = graph.input("onto", {DType::f32, {37, 600}});
  const Value scale = graph.input("scale", {DType::f32, {600}});
  const Value wide = graph.add(Cast{.to = DType::f32}, {x});
  const Value y = graph.add(LayerNormalization{}, {graph.add(Add{}, {onto, wide}), scale});
  const Value step = graph.constant(Tensor::scalar(DType::f32, 0.0625));
  const Value zero = graph.constant(Tensor::scalar(bytes, bytes == DType::u8 ? 100 : -7));
  graph.output("bytes", graph.add(QuantizeLinear{}, {y, step, zero}));
  if (reads_y) graph.output("y", y);
  return graph;
}

TEST(layer_norm_group, bytes_are_those_of_a_quantisation_behind_it) {
  for (const DType bytes : {DType::u8, DType::i8})
    for (const bool reads_y : {false, true}) {
      const Graph graph = quantized_network(bytes, reads_y);
      EXPECT_EQ(count(form_groups(graph, {.isa = Isa::avx2}), "QuantizeLinear"), 0);
      std::vector<Tensor> inputs;
      for (const Value& value : graph.inputs()) {
        inputs.emplace_back(graph.type(value).dtype, known_dims(graph.type(value).shape));
        const RandomStream random(5, graph.value_name(value));
        for (std::int64_t i = 0; i < inputs.back().size(); ++i)
          inputs.back().set(i, random.normal(static_cast<std::uint64_t>(i)));
      }
      const auto run = [&](bool fuse) {
        StateStore store;
        Executor executor(compile(graph, {.fuse = fuse}), store, 0);
        return executor.run(inputs);
      };
      const std::vector<Tensor> apart = run(false), fused = run(true);
      for (std::size_t o = 0; o < apart.size(); ++o)
        EXPECT_TRUE(apart[o].same_bits(fused[o])) << name(bytes) << ' ' << o;
    }
}

TEST(layer_norm_group, bits_do_not_depend_on_threads) {
  const Network network(DType::bf16);
  const std::vector<Tensor> one = network.run(true, 1), three = network.run(true, 3);
  for (std::size_t o = 0; o < one.size(); ++o) EXPECT_TRUE(one[o].same_bits(three[o])) << o;
}

TEST(layer_norm_group, a_nan_stays_in_its_row) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> results = Network(DType::bf16).run(true, 2, nan);
  for (const std::size_t o : {0, 3, 6})
    for (std::int64_t i = 0; i < results[o].size(); ++i)
      ASSERT_EQ(std::isnan(results[o].at(i)), i / 70 == 1) << o << " at " << i;
}

TEST(layer_norm_group_on_older_machines, is_the_same) {
  expect_tests_pass_under_each_isa("layer_norm_group.*");
}

TEST(layer_norm, a_node_between_the_members_keeps_them_apart) {
  const Graph graph = parse(R"(graph "g" {
  %x = ng.Input {type=f32[70]} : f32[70]
  %o = ng.Input {type=f32[70]} : f32[70]
  %a = Add(%x, %o) : f32[70]
  %s = Relu(%a) : f32[70]
  %n = LayerNormalization(%a, %s) : f32[70], f32[1], f32[1]
  output "n" = %n
}
)",
                            op_table());
  EXPECT_EQ(print(form_groups(graph, {.isa = Isa::avx2})), print(graph));
}

}  // namespace
}  // namespace narrowgauge::layer_norm_test
