// SPDX-License-Identifier: Apache-2.0
// Rooflines of made-up kernels on made-up machines, by figures worked out by hand; and peaks.
#include "narrowgauge/roofline.h"

#include <gtest/gtest.h>

#include "api/programs/contraction_times.h"
#include "compile/compile.h"
#include "ops/math/matmul.h"

namespace narrowgauge::roofline_test {
namespace {

// 100 GFLOP/s in f32, 400 in bf16, 10 GB/s.
constexpr PeakRates machine{100e9, 400e9, 0, 0, 10e9};

Trainer::KernelChoice kernel(const char* op, Math math, double flops, std::int64_t bytes,
                             double milliseconds) {
  Trainer::KernelChoice choice;
  choice.op = op;
  choice.math = math;
  choice.flops = flops;
  choice.bytes = bytes;
  choice.milliseconds = milliseconds;
  return choice;
}

// Two steps: times are of both, FLOPs and bytes of one.
TrainingProfile profile() {
  Trainer::KernelChoice update = kernel("ng.AnyUpdate", Math::none, 0, 20'000'000, 8);
  update.phase = Phase::update;
  return {.kernels = {update, kernel("Relu", Math::none, 0, 50'000'000, 20),
                      kernel("Conv", Math::bf16, 2e9, 100'000'000, 60)},
          .steps = 2,
          .milliseconds = 100,
          .fused_bytes = 80'000'000};
}

TEST(roofline, adds_flops_at_the_peak_of_their_math_to_bytes_at_the_rate_of_memory) {
  const Roofline found = roofline(profile(), machine);
  ASSERT_EQ(found.groups.size(), 3u);
  const RooflineGroup& conv = found.groups[0];
  EXPECT_EQ(conv.name, "convolution");
  EXPECT_DOUBLE_EQ(conv.milliseconds, 30);
  EXPECT_DOUBLE_EQ(conv.bound_milliseconds, 5 + 10);  // 2e9 / 400e9 and 1e8 / 10e9 seconds
  EXPECT_EQ(found.groups[1].name, "elementwise");
  EXPECT_DOUBLE_EQ(found.groups[1].bound_milliseconds, 5);
  EXPECT_EQ(found.groups[2].name, "update");
  EXPECT_DOUBLE_EQ(found.groups[2].bound_milliseconds, 2);
  EXPECT_DOUBLE_EQ(found.total.milliseconds, 44);
  EXPECT_DOUBLE_EQ(found.total.bound_milliseconds, 22);
  EXPECT_DOUBLE_EQ(found.step_milliseconds, 50);
}

TEST(roofline, the_most_fused_plan_moves_its_own_bytes) {
  TrainingProfile known = profile();
  // 22 ms less those of 90 MB, of 170 MB, that it does not move.
  EXPECT_DOUBLE_EQ(roofline(known, machine).fused.bound_milliseconds, 13);
  known.fused_bytes = 0;
  EXPECT_EQ(roofline(known, machine).fused.bound_milliseconds, 0);
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

// The bound has a tenth for what two measurements differ by.
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

}  // namespace
}  // namespace narrowgauge::roofline_test
