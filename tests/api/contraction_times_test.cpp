// SPDX-License-Identifier: Apache-2.0
// Measuring contractions and the machine: what is counted, and that no kernel beats the peak.
#include "api/contraction_times.h"

#include <gtest/gtest.h>

#include "api/doctor.h"
#include "compile/compile.h"
#include "ops/matmul.h"

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

TEST(ContractionTimes, CountWhatIsTheSameAsOne) {
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

TEST(Peaks, AreThoseOfTheWayThatKeepsTheContract) {
  const PeakRates tiles{.f32 = 1, .bf16 = 12, .int16 = 2, .int8 = 24};
  EXPECT_EQ(tiles.of(Math::ieee), 1);
  EXPECT_EQ(tiles.of(Math::none), 1);
  EXPECT_EQ(tiles.of(Math::bf16), 12);
  EXPECT_EQ(tiles.of(Math::f32), 4);
  EXPECT_EQ(tiles.of(Math::bf16x3), 4);
  EXPECT_EQ(tiles.of(Math::f16), 8);
  EXPECT_EQ(tiles.of(Math::dfp16), 8);
  const PeakRates vectors{.f32 = 1, .int16 = 2, .int8 = 4};
  EXPECT_EQ(vectors.of(Math::bf16), 1);
  for (const Math math : {Math::f32, Math::f16, Math::dfp16}) EXPECT_EQ(vectors.of(math), 2);
  const PeakRates plain{.f32 = 1};
  for (const Math math : {Math::f32, Math::f16, Math::bf16, Math::ieee})
    EXPECT_EQ(plain.of(math), 1);
}

TEST(Peaks, TheBestOfTwoIsTakenUnitByUnit) {
  const PeakRates best = best_of({1, 20, 3, 40, 5}, {10, 2, 30, 4, 50});
  EXPECT_EQ(best.f32, 10);
  EXPECT_EQ(best.bf16, 20);
  EXPECT_EQ(best.int16, 30);
  EXPECT_EQ(best.int8, 40);
  EXPECT_EQ(best.memory, 50);
}

// With a tenth for what two measurements differ by.
TEST(Peaks, NoProductBeatsThem) {
  const PeakRates peaks = measure_peaks(0.02);
  Graph graph("product");
  const TensorType square{DType::f32, {256, 256}};
  const Value a = graph.input("a", square), b = graph.input("b", square);
  graph.output("y", graph.add(MatMul{}, {a, b}, {.math = Math::ieee}));
  const ContractionTime time = time_contractions(compile(graph, {}), 0.02).at(0);
  EXPECT_LT(1e3 * time.flops / time.milliseconds, 1.1 * peaks.f32);
  EXPECT_GT(peaks.memory, 1e8);
}

}  // namespace
}  // namespace narrowgauge
