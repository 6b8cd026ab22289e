// SPDX-License-Identifier: Apache-2.0
// The bytes of the most fused plan, against those counted by hand.
#include "study/most_fused.h"

#include <gtest/gtest.h>

#include "ops/activation/relu.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge::most_fused_test {
namespace {

constexpr std::int64_t mib = 1 << 20;

// 1 MiB of f32 in each.
Value square(Graph& graph, const char* name) { return graph.input(name, {DType::f32, {512, 512}}); }
Value times(Graph& graph, Value a, Value b) { return graph.add(MatMul{}, {a, b}); }

TEST(most_fused, a_product_reads_its_operands_and_writes_its_result) {
  Graph graph("one");
  graph.output("y", times(graph, square(graph, "a"), square(graph, "b")));
  const MostFused found = most_fused(graph);
  EXPECT_EQ(found.read, 2 * mib);
  EXPECT_EQ(found.written, mib);
}

TEST(most_fused, what_fuses_between_products_moves_nothing) {
  Graph graph("chain");
  const Value a = square(graph, "a"), b = square(graph, "b"), c = square(graph, "c");
  Value y = times(graph, a, b);
  for (int i = 0; i < 3; ++i) y = graph.add(Relu{}, {y});
  graph.output("y", times(graph, y, c));
  const MostFused found = most_fused(graph);
  EXPECT_EQ(found.read, 4 * mib);
  EXPECT_EQ(found.written, 2 * mib);
  EXPECT_EQ(found.stored.size(), 2u);
}

// A sum of two tensors that one product reads is computed there; read by three, it is stored.
TEST(most_fused, a_sum_of_two_is_stored_where_it_is_read_often) {
  for (const int readers : {1, 3}) {
    Graph graph("block");
    const Value a = square(graph, "a"), b = square(graph, "b"), w = square(graph, "w");
    const Value sum = graph.add(Add{}, {times(graph, a, w), times(graph, b, w)});
    for (int i = 0; i < readers; ++i)
      graph.output(concat("y", i), times(graph, sum, square(graph, concat("w", i).c_str())));
    const MostFused found = most_fused(graph);
    EXPECT_EQ(found.stored.contains(sum), readers == 3);
    // Operands of the first two; each reader's weight and what it reads of the sum; or the sum made
    // in the epilogue of one product, and read.
    const std::int64_t behind = readers == 1 ? 2 : 1;
    const std::int64_t made = readers == 1 ? 0 : 1;
    EXPECT_EQ(found.read, (4 + made + readers * (1 + behind)) * mib);
    EXPECT_EQ(found.written, (2 + made + readers) * mib);
  }
}

TEST(most_fused, what_nobody_reads_costs_nothing) {
  Graph graph("none");
  const Value a = square(graph, "a");
  times(graph, a, a);
  graph.output("y", graph.add(Relu{}, {a}));
  const MostFused found = most_fused(graph);
  EXPECT_EQ(found.written, mib);
}

}  // namespace
}  // namespace narrowgauge::most_fused_test
