// SPDX-License-Identifier: Apache-2.0
// Measuring contractions and the machine: what is counted, and that no kernel beats the peak.
#include "api/contraction_times.h"

#include <gtest/gtest.h>

#include "api/amp_choice.h"
#include "api/doctor.h"
#include "api/most_fused.h"
#include "compile/compile.h"
#include "ops/activation/relu.h"
#include "ops/math/arithmetic.h"
#include "ops/math/matmul.h"

namespace narrowgauge {
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

TEST(peaks, are_those_of_the_way_that_keeps_the_contract) {
  const PeakRates tiles{.f32 = 1, .bf16 = 12, .int16 = 2, .int8 = 24};
  EXPECT_EQ(tiles.of(Math::ieee), 1);
  EXPECT_EQ(tiles.of(Math::none), 1);
  EXPECT_EQ(tiles.of(Math::bf16), 12);
  EXPECT_EQ(tiles.of(Math::f32), 4);
  EXPECT_EQ(tiles.of(Math::bf16x3), 4);
  EXPECT_EQ(tiles.of(Math::f16), 8);
  EXPECT_EQ(tiles.of(Math::dfp16), 8);
  const PeakRates vectors{.f32 = 1, .int16 = 2, .int8 = 4};
  for (const Math math : {Math::f32, Math::f16, Math::bf16, Math::dfp16})
    EXPECT_EQ(vectors.of(math), 2);
  const PeakRates pairs{.f32 = 1, .bf16 = 2.5, .int16 = 2, .int8 = 4};
  EXPECT_EQ(pairs.of(Math::bf16), 2.5);
  for (const Math math : {Math::f32, Math::f16, Math::dfp16}) EXPECT_EQ(pairs.of(math), 2);
  const PeakRates plain{.f32 = 1};
  for (const Math math : {Math::f32, Math::f16, Math::bf16, Math::ieee})
    EXPECT_EQ(plain.of(math), 1);
}

TEST(peaks, the_best_of_two_is_taken_unit_by_unit) {
  const PeakRates best = best_of({1, 20, 3, 40, 5}, {10, 2, 30, 4, 50});
  EXPECT_EQ(best.f32, 10);
  EXPECT_EQ(best.bf16, 20);
  EXPECT_EQ(best.int16, 30);
  EXPECT_EQ(best.int8, 40);
  EXPECT_EQ(best.memory, 50);
}

// With a tenth for what two measurements differ by.
TEST(peaks, no_product_beats_them) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers slow our loops, and not those that oneDNN writes";
#endif
  const PeakRates peaks = measure_peaks(0.02);
  Graph graph("product");
  const TensorType square{DType::f32, {256, 256}};
  const Value a = graph.input("a", square), b = graph.input("b", square);
  graph.output("y", graph.add(MatMul{}, {a, b}, {.math = Math::ieee}));
  const ContractionTime time = time_contractions(compile(graph, {}), 0.02).at(0);
  EXPECT_LT(1e3 * time.flops / time.milliseconds, 1.1 * peaks.f32);
  EXPECT_GT(peaks.memory, 1e8);
}

TEST(amp_choice, is_the_fastest_that_is_worth_it) {
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 300}, {"f16", 200}}).amp, "bf16");
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 90}, {"f16", 190}}).amp, "f16");
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 104}, {"f16", 90}}).amp, "off");
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 200}, {"f16", 200}}).amp, "bf16");
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 300, true}}).amp, "off");
  EXPECT_EQ(fastest_format({{"off", 100}}).amp, "off");
}

TEST(amp_choice, gives_its_reason) {
  EXPECT_EQ(fastest_format({{"off", 99.6}, {"bf16", 300}, {"f16", 20}}).reason,
            "contractions at 100 GFLOP/s in f32, 300 in bf16, 20 in f16: bf16 is fastest");
  EXPECT_EQ(fastest_format({{"off", 100}, {"bf16", 90}}).reason,
            "contractions at 100 GFLOP/s in f32, 90 in bf16: no narrow format is faster here");
}

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
}  // namespace narrowgauge
