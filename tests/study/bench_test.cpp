// SPDX-License-Identifier: Apache-2.0
// Benchmarks as a program asks for them: on a network of a few thousand numbers, against a rival
// whose times are made up.
#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"

namespace narrowgauge::bench_test {
namespace {

BenchTask small_task(std::vector<std::string> precisions) {
  BenchTask task;
  task.networks = {{"small", small_network(), softmax_cross_entropy(), {{"labels", {0, 4}}}}};
  task.precisions = std::move(precisions);
  task.batch = 16;
  task.iterations = 3;
  task.batches = 2;
  return task;
}

// Takes a millisecond for a step in one layout, and `slower` times that in the other.
class MadeUpRival : public Rival {
 public:
  explicit MadeUpRival(double slower) : slower_(slower) {}
  std::string version() const override { return "1.2"; }
  std::vector<BenchRow> rows_beside(std::span<const BenchRow> own) const override {
    std::vector<BenchRow> rows;
    for (const char* layout : {"plain", "slow"})
      rows.push_back(
          {.model = own[0].model, .precision = "f32", .rival = "made", .layout = layout});
    return rows;
  }
  void open(const Model& model, const Graph& graph, std::span<const Tensor> batch) override {
    opened = model.name();
    EXPECT_EQ(batch.size(), graph.inputs().size());
    EXPECT_EQ(batch[0].dims(), (Dims{16, 1, 12, 12}));
  }
  Steps train(const BenchRow& row, std::int64_t steps) override {
    const double each = row.layout == "slow" ? 1e-3 * slower_ : 1e-3;
    return {each * static_cast<double>(steps),
            std::vector<double>(static_cast<std::size_t>(steps), 1.5)};
  }
  std::string opened;

 private:
  double slower_;
};

TEST(bench, precisions_take_turns_and_another_begins_each_round) {
  std::vector<std::string> turns;
  const BenchOutcome outcome =
      benchmark(small_task({"ieee", "bf16"}),
                {.iteration = [&](const BenchRow& row) { turns.push_back(label_of(row)); }});
  EXPECT_EQ(turns, (std::vector<std::string>{"ieee", "bf16", "bf16", "ieee", "ieee", "bf16"}));
  ASSERT_EQ(outcome.rows.size(), 2u);
  for (const BenchRow& row : outcome.rows) {
    EXPECT_EQ(row.rates.size(), 3u);
    EXPECT_EQ(row.steps, 2 + 3 * 2);  // two warm up
    EXPECT_GT(row.spread().lower, 0);
    EXPECT_LE(row.spread().lower, row.rate());
    EXPECT_LE(row.rate(), row.spread().upper);
    EXPECT_FALSE(row.profile.kernels.empty());
    EXPECT_GT(row.largest_batch, 16);
  }
  EXPECT_EQ(speed_up(outcome.rows, outcome.rows[0]), 1);
  EXPECT_LT(std::abs(loss_difference(outcome.rows, outcome.rows[1])), 0.05);
  EXPECT_FALSE(outcome.stopped);
}

TEST(bench, every_precision_trains_the_same_weights_on_the_same_batch) {
  const BenchTask task = small_task({"ieee", "ieee"});
  const BenchOutcome outcome = benchmark(task);
  EXPECT_EQ(outcome.rows[0].losses, outcome.rows[1].losses);
  EXPECT_EQ(outcome.rows[0].losses.size(), 3u);
  EXPECT_LT(outcome.rows[0].losses[2], outcome.rows[0].losses[0]);
}

TEST(bench, a_rival_has_turns_beside_ours) {
  MadeUpRival rival(1.2);
  const BenchOutcome outcome = benchmark(small_task({"ieee"}), {}, &rival);
  EXPECT_EQ(rival.opened, "small");
  EXPECT_EQ(outcome.rival_version, "1.2");
  ASSERT_EQ(outcome.rivals.size(), 2u);
  EXPECT_EQ(label_of(outcome.rivals[0]), "made f32");
  EXPECT_NEAR(outcome.rivals[0].rate(), 16 / 1e-3, 1e-6);
  EXPECT_NEAR(rate_ratio(outcome.rivals[0], outcome.rivals[1]).median, 1.2, 1e-12);
  EXPECT_EQ(outcome.rivals[0].first_loss(), 1.5);
}

TEST(bench, a_layout_far_behind_gets_no_more_turns) {
  MadeUpRival rival(2);
  const BenchOutcome outcome = benchmark(small_task({"ieee"}), {}, &rival);
  ASSERT_EQ(outcome.rivals.size(), 1u);
  EXPECT_EQ(outcome.rivals[0].layout, "plain");
}

TEST(bench, stops_when_it_is_told_and_keeps_what_it_has) {
  std::size_t done = 0;
  const BenchOutcome outcome =
      benchmark(small_task({"ieee", "bf16"}),
                {.iteration = [&](const BenchRow&) { ++done; }, .stop = [&] { return done == 3; }});
  EXPECT_TRUE(outcome.stopped);
  ASSERT_EQ(outcome.rows.size(), 2u);
  EXPECT_EQ(outcome.rows[0].rates.size() + outcome.rows[1].rates.size(), 3u);
}

TEST(bench, a_profile_times_kernels_and_knows_the_peaks) {
  BenchTask task = small_task({"ieee"});
  task.profile = true;
  const BenchOutcome outcome = benchmark(task);
  ASSERT_TRUE(outcome.machine.has_value());
  EXPECT_GT(outcome.machine->f32, 0);
  const TrainingProfile& profile = outcome.rows.at(0).profile;
  EXPECT_EQ(profile.steps, task.batches);
  EXPECT_GT(profile.fused_bytes, 0);
  const Roofline found = roofline(profile, *outcome.machine);
  EXPECT_GT(found.total.milliseconds, 0);
  EXPECT_LE(found.total.milliseconds, found.step_milliseconds);
}

TEST(bench, kernels_are_timed_one_by_one) {
  const KernelOutcome outcome = benchmark_kernels(small_task({"ieee"}));
  ASSERT_EQ(outcome.rows.size(), 1u);
  const auto& contractions = outcome.rows[0].contractions;
  ASSERT_FALSE(contractions.empty());
  for (const ContractionTime& each : contractions) EXPECT_GT(each.milliseconds, 0) << each.node;
  const KernelTotal total = total_of(contractions, outcome.peaks);
  EXPECT_GT(total.of_peak, 0);
}

TEST(bench, refuses_a_precision_that_it_does_not_know) {
  try {
    benchmark(small_task({"f12"}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "benchmark: expected a precision of ieee, f32, dfp16, bf16, f16 or auto, got "
                 "\"f12\"");
  }
}

}  // namespace
}  // namespace narrowgauge::bench_test
