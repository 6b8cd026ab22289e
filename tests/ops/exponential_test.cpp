// SPDX-License-Identifier: Apache-2.0
// The exponential schedule against PyTorch's ExponentialLR, whose gamma is the factor of one step.
#include <cmath>

#include "ops/training/schedules/learning_rate.h"
#include "support/run_op.h"

namespace narrowgauge::exponential_test {
namespace {

double rate_at(const LearningRate& schedule, int step) {
  return testing_support::run_op(schedule, {Tensor::scalar(DType::i64, step)})[0].at(0);
}

TEST(exponential, is_that_of_ExponentialLR) {
  const double gamma = 0.9;
  const LearningRate schedule{
      .schedule = "exponential", .step_every = 4, .step_factor = std::pow(gamma, 4)};
  double expected = 0.1;
  for (int step = 0; step < 30; ++step, expected *= gamma)
    EXPECT_NEAR(rate_at(schedule, step), expected, 1e-8) << step;
}

TEST(exponential, begins_after_the_warm_up_and_ends_at_the_minimum) {
  const LearningRate schedule{.schedule = "exponential",
                              .warmup_steps = 4,
                              .step_every = 1,
                              .step_factor = 0.5,
                              .minimum = 0.02};
  const double expected[] = {0.025, 0.05, 0.075, 0.1, 0.1, 0.05, 0.025, 0.02, 0.02};
  for (int step = 0; step < 9; ++step)
    EXPECT_NEAR(rate_at(schedule, step), expected[step], 1e-8) << step;
}

TEST(exponential, needs_a_number_of_steps) {
  EXPECT_THROW(rate_at({.schedule = "exponential", .step_every = 0}, 1), UsageError);
}

}  // namespace
}  // namespace narrowgauge::exponential_test
