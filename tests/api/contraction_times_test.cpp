// SPDX-License-Identifier: Apache-2.0
// Measuring contractions: what is counted, and which format is the fastest.
#include "api/programs/contraction_times.h"

#include <gtest/gtest.h>

#include "api/training/amp_choice.h"
#include "compile/compile.h"
#include "ops/math/matmul.h"

namespace narrowgauge::contraction_times_test {
namespace {

// a b and b c, twice the same shapes; d e of others.
Graph three_products(DType dtype, Math math) {
  Graph graph("three");
  const auto input = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return graph.input(name, {dtype, {rows, columns}});
  };
  const Value a = input("a", 64, 64), b = input("b", 64, 64), c = input("c", 64, 64);
  const Value d = input("d", 48, 80), e = input("e", 80, 16);
  graph.output("first", graph.add(MatMul{}, {a, b}, {.name = "first", .math = math}));
  graph.output("other", graph.add(MatMul{}, {d, e}, {.name = "other", .math = math}));
  graph.output("second", graph.add(MatMul{}, {b, c}, {.name = "second", .math = math}));
  return graph;
}

TEST(contraction_times, count_what_is_the_same_as_one) {
  const Plan plan = compile(three_products(DType::f32, Math::ieee), {});
  const std::vector<ContractionTime> times = time_contractions(plan, 1e-4);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].node, "first");
  EXPECT_EQ(times[0].count, 2);
  EXPECT_EQ(times[0].shapes, "f32[64,64] x f32[64,64] -> f32[64,64]");
  EXPECT_EQ(times[0].flops, 2. * 64 * 64 * 64);
  EXPECT_EQ(times[0].bytes, 3 * 64 * 64 * 4);
  EXPECT_EQ(times[0].math, Math::ieee);
  EXPECT_EQ(times[1].node, "other");
  EXPECT_EQ(times[1].count, 1);
  EXPECT_EQ(times[1].flops, 2. * 48 * 80 * 16);
  for (const ContractionTime& time : times) {
    EXPECT_GT(time.milliseconds, 0);
    EXPECT_NE(time.implementation, "");
  }
}

TEST(amp_choice, is_the_fastest_that_is_worth_it) {
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 300}, {DType::f16, 200}}).format,
            DType::bf16);
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 90}, {DType::f16, 190}}).format,
            DType::f16);
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 104}, {DType::f16, 90}}).format,
            DType::f32);
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 200}, {DType::f16, 200}}).format,
            DType::bf16);
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 300, true}}).format, DType::f32);
  EXPECT_EQ(fastest_format({{DType::f32, 100}}).format, DType::f32);
}

TEST(amp_choice, gives_its_reason) {
  EXPECT_EQ(fastest_format({{DType::f32, 99.6}, {DType::bf16, 300}, {DType::f16, 20}}).reason,
            "contractions at 100 GFLOP/s in f32, 300 in bf16, 20 in f16: bf16 is fastest");
  EXPECT_EQ(fastest_format({{DType::f32, 100}, {DType::bf16, 90}}).reason,
            "contractions at 100 GFLOP/s in f32, 90 in bf16: no narrow format is faster here");
}

}  // namespace
}  // namespace narrowgauge::contraction_times_test
