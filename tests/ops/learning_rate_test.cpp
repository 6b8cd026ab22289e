// SPDX-License-Identifier: Apache-2.0
// Schedules against the numbers that PyTorch 2.15 prints for its own.
#include "ops/training/schedules/learning_rate.h"

#include "support/run_op.h"

namespace narrowgauge::learning_rate_test {
namespace {

void expect_rates(const LearningRate& schedule, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const Tensor applied = Tensor::scalar(DType::i64, static_cast<double>(step));
    EXPECT_NEAR(testing_support::run_op(schedule, {applied})[0].at(0), expected[step], 1e-8)
        << step;
  }
}

TEST(learning_rate, steps_are_those_of_StepLR) {
  expect_rates({.schedule = "step", .step_every = 3, .step_factor = 0.5},
               {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125});
}

TEST(learning_rate, cosine_is_that_of_CosineAnnealingLR) {
  expect_rates({.schedule = "cosine", .total_steps = 10, .minimum = 0.01},
               {0.1, 0.0977975432, 0.0914057647, 0.0814503364, 0.0689057647, 0.055, 0.0410942353,
                0.0285496636, 0.0185942353, 0.0122024568, 0.01, 0.01, 0.01});
}

TEST(learning_rate, warm_up_is_that_of_LinearLR_before_the_cosine) {
  expect_rates({.schedule = "cosine", .warmup_steps = 4, .total_steps = 12},
               {0.025, 0.05, 0.075, 0.1, 0.1, 0.0961939766, 0.0853553391, 0.0691341716, 0.05,
                0.0308658284, 0.0146446609, 0.00380602337, 0});
}

TEST(learning_rate, constant_stays) { expect_rates({.base = 0.1}, {0.1, 0.1, 0.1}); }

}  // namespace
}  // namespace narrowgauge::learning_rate_test
