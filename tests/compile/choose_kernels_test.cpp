// SPDX-License-Identifier: Apache-2.0
#include "compile/choose_kernels.h"

#include <gtest/gtest.h>

#include "base/threads/parallel.h"
#include "ops/table.h"
#include "passes/core/operands.h"

namespace narrowgauge::choose_kernels_test {
namespace {

// Several contractions, so that threads share them.
Graph products() {
  std::string text = "graph \"g\" {\n  %x = ng.Input {type=f32[8,8]} : f32[8,8]\n";
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string name = concat("p", i);
    text += concat("  %", name, " = MatMul(%", last, ", %x) : f32[8,8]\n");
    last = name;
  }
  return parse(concat(text, "  output \"y\" = %", last, "\n}\n"), op_table());
}

std::vector<ChosenKernel> choose(const Graph& graph, CompileOptions options) {
  return choose_kernels(graph, values_read(graph), options);
}

TEST(choose_kernels, all_that_run_are_ready_and_the_same_for_any_number_of_threads) {
  const Graph graph = products();
  const auto choose_with = [&](int threads) {
    const ThreadScope scope(threads);
    return choose(graph, {.deterministic = true});
  };
  const auto alone = choose_with(1), together = choose_with(4);
  ASSERT_EQ(alone.size(), graph.nodes().size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const bool computes = !is_source(graph.node(static_cast<int>(i)));
    EXPECT_EQ(static_cast<bool>(alone[i].offer.run), computes);
    EXPECT_EQ(static_cast<bool>(together[i].offer.run), computes);
    EXPECT_EQ(alone[i].offer.implementation, together[i].offer.implementation);
    EXPECT_FALSE(together[i].offer.prepare);
  }
}

TEST(choose_kernels, a_plan_for_reading_makes_nothing_ready) {
  const auto chosen = choose(products(), {.target = {.isa = Isa::avx2}, .runs = false});
  EXPECT_TRUE(chosen.back().offer.prepare);
  const Graph one_row = parse(R"(graph "g" {
  %a = ng.Input {type=f16[1,64]} : f16[1,64]
  %b = ng.Input {type=f16[64,64]} : f16[64,64]
  %y = MatMul(%a, %b) : f16[1,64]
  output "y" = %y
}
)",
                              op_table());
  EXPECT_EQ(choose(one_row, {.target = {.isa = Isa::avx2}, .runs = false}).back().why,
            "not measured; first of 2: rows, onednn");
}

TEST(choose_kernels, kernels_use_the_threads_of_the_target_though_one_of_the_team_made_them_ready) {
  const ThreadScope scope(3);
  const Graph graph = parse(R"(graph "g" {
  %a = ng.Input {type=f16[2048,256]} : f16[2048,256]
  %b = ng.Input {type=f16[256,256]} : f16[256,256]
  %y = MatMul(%a, %b) : f16[2048,256]
  %z = MatMul(%a, %b) : f16[2048,256]
  output "y" = %y
  output "z" = %z
}
)",
                            op_table());
  const auto workspace = [&](int threads) {
    CompileOptions options;
    options.target.threads = threads;
    return choose(graph, options).back().offer.workspace;
  };
  EXPECT_GT(workspace(3), workspace(1));
}

}  // namespace
}  // namespace narrowgauge::choose_kernels_test
