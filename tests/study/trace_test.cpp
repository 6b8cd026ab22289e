// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/trace.h"

#include <gtest/gtest.h>

#include "api/small_training.h"
#include "support/json.h"

namespace narrowgauge::trace_test {
namespace {

using testing_json::Json;

Trainer::KernelChoice kernel(const char* node, const char* op, double milliseconds, double flops,
                             std::int64_t bytes, KernelFacts facts) {
  return {node,         op,         "own", facts, Phase::backward,
          milliseconds, Math::bf16, flops, bytes, "fastest"};
}

TEST(trace, rows_add_up_the_kernels_of_one_kind) {
  const KernelFacts amx{.isa = Isa::amx}, avx2{.isa = Isa::avx2};
  std::vector<Trainer::KernelChoice> kernels{kernel("a", "Conv", 2, 4e6, 1000000, amx),
                                             kernel("b", "Relu", 12, 0, 3000000, avx2),
                                             kernel("c", "Conv", 6, 8e6, 3000000, amx)};
  kernels.push_back(kernel("d", "Reshape", 0, 0, 0, {}));  // not run
  const auto rows = profile_rows(kernels, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].op, "Relu");
  EXPECT_EQ(rows[0].share, 0.6);
  EXPECT_EQ(rows[0].matrix_unit, std::nullopt);
  EXPECT_EQ(rows[1].nodes, 2);
  EXPECT_EQ(rows[1].milliseconds, 4);  // of a step
  EXPECT_DOUBLE_EQ(rows[1].gigabytes_per_second, 1);
  EXPECT_DOUBLE_EQ(rows[1].gigaflops_per_second, 3);
  EXPECT_EQ(rows[1].matrix_unit, true);
}

TEST(trace, the_matrix_unit_is_told_by_facts) {
  EXPECT_EQ(on_matrix_unit(kernel("a", "Conv", 1, 1, 1, {.isa = Isa::avx512})), false);
  EXPECT_EQ(on_matrix_unit(kernel("a", "Conv", 1, 1, 1, {})), std::nullopt);
  EXPECT_EQ(on_matrix_unit(kernel("a", "Conv", 1, 1, 1, {.isa = Isa::amx, .widened = true})),
            false);
}

TEST(trace, slices_of_kernels_lie_within_their_step) {
  const std::vector<Trainer::KernelChoice> kernels{kernel("a", "Conv", 2, 4e6, 1000000, {}),
                                                   kernel("b", "Relu", 1, 0, 8, {})};
  const Json trace = Json::parse(
      chrome_trace(kernels, {{0, 100, 1}, {1, 101.5, 0.5}, {0, 110, 2}, {1, 113, 0.25}}));
  std::vector<Json> steps, runs;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") (event.at("cat") == "step" ? steps : runs).push_back(event);
  ASSERT_EQ(steps.size(), 2u);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(steps[1].at("ts"), 10000);
  EXPECT_EQ(steps[1].at("dur"), 3250);
  EXPECT_EQ(runs[2].at("name"), "a");
  EXPECT_EQ(runs[2].at("cat"), "backward");
  EXPECT_EQ(runs[2].at("args").at("kernel"), "own");
  EXPECT_EQ(runs[2].at("args").at("why"), "fastest");
  EXPECT_EQ(runs[2].at("args").at("math"), "bf16");
  EXPECT_DOUBLE_EQ(runs[2].at("args").at("Gflop/s").get<double>(), 2);
  EXPECT_DOUBLE_EQ(runs[2].at("args").at("GB/s").get<double>(), 0.5);
  EXPECT_FALSE(runs[3].at("args").contains("math"));
}

TEST(trace, of_a_training_has_each_kernel_once_a_step_and_in_order) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  trainer.step(small_batch(0));
  trainer.enable_profile(true);
  for (int i = 1; i < 4; ++i) trainer.step(small_batch(1));
  trainer.disable_profile();
  trainer.step(small_batch(4));
  const auto kernels = trainer.kernels();
  const auto runs = trainer.kernel_runs();
  std::vector<int> times(kernels.size());
  std::vector<double> sums(kernels.size());
  double end = 0;
  for (const Trainer::KernelRun& run : runs) {
    ++times.at(run.kernel);
    sums[run.kernel] += run.milliseconds;
    EXPECT_GE(run.begin, end);
    end = run.begin + run.milliseconds;
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    EXPECT_TRUE(times[k] == 3 || (times[k] == 0 && kernels[k].milliseconds == 0));
    EXPECT_NEAR(sums[k], kernels[k].milliseconds, 1e-9);
  }
}

}  // namespace
}  // namespace narrowgauge::trace_test
