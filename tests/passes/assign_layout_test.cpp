// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/assign_layout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "passes/shapes/bind_shapes.h"
#include "runtime/executor.h"
#include "support/count.h"

namespace narrowgauge::assign_layout_test {
namespace {

const Target with_amx{.isa = Isa::amx};

// Two convolutions: from `channels` to 32, then 64.
Graph network(std::int64_t images, std::int64_t channels = 20) {
  constexpr std::string_view text = R"(graph "g" {
  %x = ng.Input {type=bf16[N,C,8,8]} : bf16[N,C,8,8]
  %w1 = ng.Input {type=bf16[32,C,3,3]} : bf16[32,C,3,3]
  %w2 = ng.Input {type=bf16[64,32,3,3]} : bf16[64,32,3,3]
  %w3 = ng.Input {type=bf16[64,64,3,3]} : bf16[64,64,3,3]
  %c1 = Conv(%x, %w1) {pads=[1,1,1,1]} : bf16[N,32,8,8]
  %r1 = Relu(%c1) : bf16[N,32,8,8]
  %c2 = Conv(%r1, %w2) {pads=[1,1,1,1], strides=[2,2]} : bf16[N,64,4,4]
  %c3 = Conv(%c2, %w3) {pads=[1,1,1,1]} : bf16[N,64,4,4]
  %c4 = Conv(%c3, %w3) {pads=[1,1,1,1]} : bf16[N,64,4,4]
  %p = GlobalAveragePool(%c4) : bf16[N,64,1,1]
  output "p" = %p
}
)";
  return bind_shapes(parse(text, op_table()), {{"N", images}, {"C", channels}});
}

Storage storage_of(const Graph& graph, std::string_view node) {
  return graph.node(graph.find_node(node)).outputs[0].storage;
}

TEST(assign_layout, convolutions_that_tiles_take_run_batch_inner_and_the_others_channels_last) {
  const Graph moved = assign_layout(network(64), Layout::fastest, with_amx);
  verify(moved, Stage::laid_out);
  EXPECT_EQ(storage_of(moved, "c1"), Storage::channels_last(4));
  for (const char* node : {"r1", "c2", "p"})
    EXPECT_EQ(storage_of(moved, node), Storage::batch_inner()) << node;
  EXPECT_EQ(count(moved, "ng.Relayout"), 3) << print(moved);
}

TEST(assign_layout, the_first_convolution_reads_plain_images_of_few_channels) {
  const Graph moved = assign_layout(network(32, 3), Layout::fastest, with_amx);
  for (const char* node : {"c1", "r1", "c2", "p"})
    EXPECT_EQ(storage_of(moved, node), Storage::batch_inner()) << node;
  EXPECT_EQ(count(moved, "ng.Relayout"), 1) << print(moved);
}

// The graph is as networks of depthwise convolutions: each would have a border on both sides.
TEST(assign_layout, blocks_are_not_worth_a_border_for_each_contraction) {
  constexpr std::string_view text = R"(graph "g" {
  %x = ng.Input {type=bf16[32,64,8,8]} : bf16[32,64,8,8]
  %w = ng.Input {type=bf16[64,64,1,1]} : bf16[64,64,1,1]
  %v = ng.Input {type=bf16[64,1,3,3]} : bf16[64,1,3,3]
  %c1 = Conv(%x, %w) : bf16[32,64,8,8]
  %d1 = Conv(%c1, %v) {group=64, pads=[1,1,1,1]} : bf16[32,64,8,8]
  %c2 = Conv(%d1, %w) : bf16[32,64,8,8]
  %c3 = Conv(%c2, %w) : bf16[32,64,8,8]
  %d2 = Conv(%c3, %v) {group=64, pads=[1,1,1,1]} : bf16[32,64,8,8]
  %c4 = Conv(%d2, %w) : bf16[32,64,8,8]
  output "c4" = %c4
}
)";
  const Graph moved = assign_layout(parse(text, op_table()), Layout::fastest, with_amx);
  for (const char* node : {"c1", "d1", "c2", "c3", "d2", "c4"})
    EXPECT_EQ(storage_of(moved, node), Storage::channels_last(4)) << node;
  EXPECT_EQ(count(moved, "ng.Relayout"), 2) << print(moved);
}

TEST(assign_layout, images_of_few_channels_stay_plain_for_a_kernel_that_reads_them) {
  const Target with_avx512{.isa = Isa::avx512}, with_avx2{.isa = Isa::avx2};
  const Graph moved = assign_layout(network(48, 3), Layout::fastest, with_avx512);
  EXPECT_EQ(storage_of(moved, "c1"), Storage::channels_last(4));
  EXPECT_EQ(count(moved, "ng.Relayout"), 1) << print(moved);  // of the result
  const Graph elsewhere = assign_layout(network(48, 3), Layout::fastest, with_avx2);
  EXPECT_EQ(count(elsewhere, "ng.Relayout"), 2) << print(elsewhere);
}

TEST(assign_layout, channels_last_where_blocks_would_not_be_full) {
  const Graph moved = assign_layout(network(48), Layout::fastest, with_amx);
  for (const char* node : {"c1", "r1", "c2", "p"})
    EXPECT_EQ(storage_of(moved, node), Storage::channels_last(4)) << node;
}

TEST(assign_layout, values_do_not_depend_on_the_layout) {
  const Graph graph = network(32);
  std::vector<Tensor> inputs;
  for (const Value& value : graph.inputs()) {
    inputs.emplace_back(DType::bf16, known_dims(graph.type(value).shape));
    const RandomStream random(5, graph.value_name(value));
    for (std::int64_t i = 0; i < inputs.back().size(); ++i)
      inputs.back().set(i, random.normal(static_cast<std::uint64_t>(i)));
  }
  std::vector<Tensor> results;
  for (const Layout layout : {Layout::plain, Layout::fastest}) {
    StateStore store;
    Executor executor(compile(graph, {.layout = layout}), store, 2);
    results.push_back(executor.run(inputs)[0]);
  }
  for (std::int64_t i = 0; i < results[0].size(); ++i)
    ASSERT_NEAR(results[0].at(i), results[1].at(i), 0.02 * std::abs(results[0].at(i)) + 0.01) << i;
}

}  // namespace
}  // namespace narrowgauge::assign_layout_test
