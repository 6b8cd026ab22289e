// SPDX-License-Identifier: Apache-2.0
// Pairs of trainings: from the same weights, over the same batches.
#include "narrowgauge/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"

namespace narrowgauge::compare_test {
namespace {

CompareTask small_task(std::vector<std::string> precisions) {
  CompareTask task{.name = "small",
                   .build = small_network(),
                   .loss = softmax_cross_entropy(),
                   .training = small_source(256),
                   .test = small_source(64)};
  for (const std::string& precision : precisions) {
    CompareCase each{.precision = precision, .optimizer = sgd(0.05)};
    if (precision == "bf16") enable_mixed_precision(each.optimizer, DType::bf16);
    each.options.obeys_environment = false;
    each.fit = {.epochs = 2, .batch = 32};
    task.cases.push_back(std::move(each));
  }
  return task;
}

TEST(compare, equal_cases_end_with_equal_bits) {
  const Comparison comparison = compare(small_task({"f32", "again"}));
  ASSERT_EQ(comparison.runs.size(), 2u);
  EXPECT_EQ(comparison.runs[0].sha256, comparison.runs[1].sha256);
  EXPECT_EQ(comparison.runs[0].fit.final_loss, comparison.runs[1].fit.final_loss);
  EXPECT_EQ(largest_difference(comparison.runs), 0);
  EXPECT_FALSE(comparison.stopped);
  EXPECT_EQ(comparison.diverged, "");
}

TEST(compare, other_precisions_begin_with_the_same_weights_and_batch) {
  const Comparison comparison = compare(small_task({"f32", "bf16"}));
  const TrainingOutcome &f32 = comparison.runs.at(0), &bf16 = comparison.runs.at(1);
  EXPECT_FALSE(f32.narrow.has_value());
  EXPECT_EQ(bf16.narrow, DType::bf16);
  EXPECT_NE(f32.sha256, bf16.sha256);
  EXPECT_NE(f32.fit.first_loss, bf16.fit.first_loss);
  EXPECT_NEAR(f32.fit.first_loss, bf16.fit.first_loss, 0.02);
  EXPECT_EQ(f32.fit.steps, 16);
  EXPECT_GT(f32.activation_bytes, bf16.activation_bytes);
  EXPECT_GT(contraction_use(f32.kernels).share, 0);
}

TEST(compare, weights_may_be_set_before_each_case) {
  const CompareTask task = small_task({"f32", "bf16"});
  Model donor("small", small_network(), 17);
  std::vector<std::string> begun;
  const auto set = [&](const CompareCase& each, Model& model) {
    begun.push_back(each.precision);
    for (const std::string& name : donor.state_names()) model.set_state(name, donor.state(name));
  };
  const Comparison with = compare(task, {.begin = set}), without = compare(task);
  EXPECT_EQ(begun, (std::vector<std::string>{"f32", "bf16"}));
  EXPECT_NE(with.runs[0].fit.first_loss, without.runs[0].fit.first_loss);
}

TEST(compare, stops_when_it_is_told) {
  std::int64_t steps = 0;
  const Comparison comparison =
      compare(small_task({"f32", "bf16"}),
              {.progress = [&](const CompareCase&, const Progress&) { return ++steps < 3; }});
  EXPECT_TRUE(comparison.stopped);
  ASSERT_EQ(comparison.runs.size(), 1u);
  EXPECT_EQ(comparison.runs[0].fit.steps, 3);
}

TEST(compare, a_case_that_diverges_ends_it_and_those_before_stay) {
  CompareTask task = small_task({"f32", "wild"});
  task.cases[1].optimizer.learning_rate = 1e20;
  const Comparison comparison = compare(task);
  EXPECT_EQ(comparison.runs.size(), 1u);
  EXPECT_EQ(comparison.diverged.substr(0, 6), "wild: ");
}

TrainingOutcome outcome_of(const std::string& precision, double rate, double accuracy) {
  TrainingOutcome outcome{.precision = precision};
  outcome.fit.samples_per_second = rate;
  outcome.fit.test = {.loss = 1, .accuracy = accuracy, .samples = 10000};
  return outcome;
}

TEST(compare, measures_by_ieee_where_it_is_among_the_runs) {
  const std::vector<TrainingOutcome> runs{
      outcome_of("f32", 200, 0.99), outcome_of("ieee", 100, 0.98), outcome_of("bf16", 300, 0.97)};
  EXPECT_EQ(base_of(runs).precision, "ieee");
  EXPECT_EQ(speed_up(runs[2], base_of(runs)), 3);
  EXPECT_NEAR(largest_difference(runs), 0.01, 1e-12);
}

// p (1 - p) is 0.09 and 0.16: the variance of the difference is 0.25 / 10000.
TEST(compare, noise_is_two_standard_errors_of_the_difference) {
  EXPECT_NEAR(accuracy_noise(outcome_of("", 1, 0.9).fit.test, outcome_of("", 1, 0.8).fit.test),
              2 * std::sqrt(0.25 / 10000), 1e-12);
}

TEST(compare, counts_contractions_that_gain_nothing) {
  std::vector<Trainer::KernelChoice> kernels(3);
  kernels[0].flops = kernels[1].flops = 1;
  kernels[0].facts.widened = true;
  kernels[0].milliseconds = kernels[1].milliseconds = 3;
  kernels[2].milliseconds = 2;
  const ContractionUse use = contraction_use(kernels);
  EXPECT_EQ(use.count, 2);
  EXPECT_EQ(use.widened, 1);
  EXPECT_EQ(use.share, 0.75);
}

}  // namespace
}  // namespace narrowgauge::compare_test
