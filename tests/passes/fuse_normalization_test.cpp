// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_normalization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "base/random.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "passes/assign_layout.h"
#include "runtime/executor.h"

namespace narrowgauge {
namespace {

// A convolution, normalized; added to a shortcut that is normalized too; and both statistics.
constexpr std::string_view residual = R"(graph "g" {
  %x = ng.Input {type=bf16[64,32,6,5]} : bf16[64,32,6,5]
  %w = ng.Input {type=bf16[32,32,3,3]} : bf16[32,32,3,3]
  %v = ng.Input {type=bf16[32,32,3,3]} : bf16[32,32,3,3]
  %s = ng.Input {type=f32[32]} : f32[32]
  %b = ng.Input {type=f32[32]} : f32[32]
  %m = ng.Input {type=f32[32]} : f32[32]
  %c1 = Conv(%x, %w) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n1 = BatchNormalization(%c1, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
  %r1 = Relu(%n1) : bf16[64,32,6,5]
  %c2 = Conv(%r1, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n2 = BatchNormalization(%c2, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
  %c3 = Conv(%x, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n3 = BatchNormalization(%c3, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
  %a = Add(%n2, %n3) : bf16[64,32,6,5]
  %r = Relu(%a) : bf16[64,32,6,5]
  output "r" = %r
  output "mean" = %n1@1
  output "variance" = %n2@2
  output "saved mean" = %n3@3
  output "inverse deviation" = %n2@4
}
)";

Graph laid_out() { return assign_layout(parse(residual, op_table()), Layout::fastest); }

std::int64_t count(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const Node& node) { return node.op->info.name == op; });
}

std::vector<Tensor> run(const CompileOptions& options) {
  const Graph graph = parse(residual, op_table());
  std::vector<Tensor> inputs;
  for (const Value& value : graph.inputs()) {
    const TensorType& type = graph.type(value);
    inputs.emplace_back(type.dtype, known_dims(type.shape));
    const RandomStream random(5, graph.value_name(value));
    for (std::int64_t i = 0; i < inputs.back().size(); ++i)
      inputs.back().set(i,
                        random.normal(static_cast<std::uint64_t>(i)) + static_cast<float>(i % 2));
  }
  StateStore store;
  Executor executor(compile(graph, options), store, 2);
  return executor.run(inputs);
}

TEST(FuseNormalization, TakesTheReluAndTheAddBeforeIt) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  const Graph fused = fuse_normalization(laid_out());
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "Fused"), 2) << print(fused);
  EXPECT_EQ(count(fused, "BatchNormalization"), 1);  // the shortcut's: only one can take the Add
  EXPECT_EQ(count(fused, "Relu") + count(fused, "Add"), 0);
}

TEST(FuseNormalization, LeavesWhatNoKernelTakes) {
  const Graph plain = parse(residual, op_table());
  EXPECT_EQ(print(fuse_normalization(plain)), print(plain));
}

TEST(FuseNormalization, LeavesAReluWhoseInputSomebodyElseReads) {
  std::string text(residual);
  text.insert(text.find("  output \"mean\""), "  output \"n1\" = %n1\n  output \"a\" = %a\n");
  const Graph moved = assign_layout(parse(text, op_table()), Layout::fastest);
  EXPECT_EQ(count(fuse_normalization(moved), "Fused"), 0);
}

TEST(FuseNormalization, ValuesAreThoseOfTheNodesApart) {
  const std::vector<Tensor> apart = run({.fuse = false}), fused = run({});
  for (std::size_t o = 0; o < apart.size(); ++o)
    for (std::int64_t i = 0; i < apart[o].size(); ++i)
      ASSERT_NEAR(apart[o].at(i), fused[o].at(i), 0.03 + 0.01 * std::abs(apart[o].at(i)))
          << o << " at " << i;
}

}  // namespace
}  // namespace narrowgauge
