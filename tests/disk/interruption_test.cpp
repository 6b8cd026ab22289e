// SPDX-License-Identifier: Apache-2.0
// Evaluation and resumption see one whole run, whenever a training ended, the disk was full or the
// power failed. A sample of what interruption_slow_test tries completely.
#include <gtest/gtest.h>

#include "disk/trial.h"

namespace narrowgauge::testing_disk::interruption_test {
namespace {

class Interruption : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!shim_works) GTEST_SKIP() << "the shim cannot be loaded ahead of a sanitizer";
    ASSERT_NE(std::getenv("NARROWGAUGE_SHIM"), nullptr) << "its path, as ctest sets it";
  }
  static constexpr int stride = 29;
};

TEST_P(Interruption, a_process_that_ends_leaves_one_whole_run) {
  Trial trial(GetParam());
  int least = 0;
  for (int call = 1; check_end_at(trial, call, least); call += stride)
    if (HasFailure()) return;
  EXPECT_GE(least, 2);
}

TEST_P(Interruption, a_full_disk_leaves_one_whole_run) {
  Trial trial(GetParam());
  int least = 0;
  for (int call = 1; check_full_at(trial, call, least); call += stride)
    if (HasFailure()) return;
  EXPECT_GE(least, 2);
}

TEST_P(Interruption, a_loss_of_power_leaves_one_whole_run) {
  Trial trial(GetParam());
  EXPECT_GT(check_power_losses(trial, 0, stride), 4);
}

INSTANTIATE_TEST_SUITE_P(Over, Interruption, testing::Values(false, true),
                         [](const auto& over) { return over.param ? "AnOlderRun" : "Nothing"; });

}  // namespace
}  // namespace narrowgauge::testing_disk::interruption_test
