// SPDX-License-Identifier: Apache-2.0
// How many samples a step has where --batch does not say it.
#include <gtest/gtest.h>

#include "cli/task/settings.h"

namespace narrowgauge::cli::fitting_batch_text_test {
namespace {

TEST(fitting_batch, leaves_fifty_steps_in_an_epoch_as_far_as_samples_go) {
  const struct {
    std::int64_t samples, batch;
  } cases[] = {{60000, 128}, {6400, 128}, {6399, 64}, {3200, 64}, {3199, 32}, {1600, 32},
               {1599, 16},   {800, 16},   {799, 8},   {400, 8},   {280, 8},   {64, 8},
               {63, 7},      {48, 6},     {8, 1},     {7, 1},     {1, 1},     {0, 1}};
  for (const auto& each : cases)
    EXPECT_EQ(fitting_batch(usual_training_batch, each.samples), each.batch) << each.samples;
}

TEST(fitting_batch, of_a_network_with_a_small_one_of_its_own_is_that) {
  EXPECT_EQ(fitting_batch(16, 100000), 16);
  EXPECT_EQ(fitting_batch(16, 16), 16);
  EXPECT_EQ(fitting_batch(16, 15), 1);
  EXPECT_EQ(fitting_batch(8, 20), 8);
}

std::int64_t fitted(std::int64_t samples, std::int64_t parts, const TrainFlags& flags = {}) {
  Settings settings;
  settings.accumulation = parts;
  fit_batch(settings, samples, flags);
  return settings.batch;
}

TEST(fit_batch, cuts_into_equal_parts) {
  EXPECT_EQ(fitted(300, 1), 8);
  EXPECT_EQ(fitted(300, 4), 8);
  EXPECT_EQ(fitted(300, 32), 32);
  EXPECT_EQ(fitted(48, 4), 4);
}

TEST(fit_batch, leaves_what_is_given_and_what_a_run_had) {
  TrainFlags given, resumed;
  given.given["batch"] = std::int64_t{128};
  resumed.resume = "runs/lenet";
  EXPECT_EQ(fitted(300, 1, given), 128);
  EXPECT_EQ(fitted(300, 1, resumed), 128);
}

}  // namespace
}  // namespace narrowgauge::cli::fitting_batch_text_test
