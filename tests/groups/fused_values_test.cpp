// SPDX-License-Identifier: Apache-2.0
// A fused group gives the values that its members gave.
#include <gtest/gtest.h>

#include <limits>

#include "groups/fused.h"
#include "ops/activation/relu.h"
#include "ops/pointwise/cast.h"
#include "passes/fusion/fuse_elementwise.h"
#include "support/run_op.h"

namespace narrowgauge::fused_values_test {
namespace {

using testing_support::to_doubles;
using Doubles = std::vector<double>;

bool has_group(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.is<Fused>()) return true;
  return false;
}

// x -> Cast to `to` -> Cast to f32 -> Relu, with and without fusion.
Graph there_and_back(Cast there, std::int64_t count) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {Dim(count)}});
  const Value narrow = graph.add(std::move(there), {x});
  graph.output("y", graph.add(Relu{}, {graph.add(Cast{.to = DType::f32}, {narrow})}));
  return graph;
}

TEST(fused_values, a_cast_to_bool_makes_zeros_and_ones) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from<float>({5}, {2.5F, 0, -3, -0.0F, nan});
  const Graph plain = there_and_back({.to = DType::boolean}, 5);
  const Graph fused = fuse_elementwise(plain, Target::machine());
  EXPECT_TRUE(has_group(fused)) << print(fused);
  const Tensor given[] = {x};
  for (const bool reference : {false, true})
    for (const Graph& graph : {plain, fused})
      EXPECT_EQ(to_doubles(interpret(graph, given, {.reference = reference})[0]),
                (Doubles{1, 0, 1, 0, 1}));
}

TEST(fused_values, a_cast_to_f8_keeps_its_saturation) {
  const Tensor x = Tensor::from<float>({4}, {1e6F, 3.3F, 448, 1});
  const Tensor given[] = {x};
  for (const DType to : {DType::f8e4m3fn, DType::f8e5m2})
    for (const int saturate : {0, 1}) {
      const Graph plain = there_and_back({.to = to, .saturate = saturate}, 4);
      const Doubles expected = to_doubles(interpret(plain, given, {.reference = false})[0]);
      const Graph fused = fuse_elementwise(plain, Target::machine());
      const Doubles got = to_doubles(interpret(fused, given, {.reference = false})[0]);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(got[i] == expected[i] || (got[i] != got[i] && expected[i] != expected[i]))
            << name(to) << " saturate " << saturate << ": " << got[i] << ", not " << expected[i];
    }
}

}  // namespace
}  // namespace narrowgauge::fused_values_test
