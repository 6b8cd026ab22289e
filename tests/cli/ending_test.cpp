// SPDX-License-Identifier: Apache-2.0
// Runs that judge their own progress, and runs that a signal stops.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "cli/training_fixture.h"
#include "narrowgauge/error.h"

namespace narrowgauge::testing_cli::ending_test {
namespace {

TEST_F(Training, ends_early_keeps_the_best_and_goes_on_as_it_began) {
  const std::string folder = *folder_ / "early";
  const Result result = run(train({"--epochs", "30", "--lr", "0", "--patience", "2", "--keep-best",
                                   "--watch", "accuracy", "--output", folder}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "ended early     accuracy was no better than ")) << result.out;
  EXPECT_TRUE(contains(result.out, "steps           24, ")) << result.out;
  const Result best = run({"evaluate", folder + "/best"});
  EXPECT_EQ(best.code, 0) << best.err;
  const Json resumed = done({"train", "--resume", folder, "--json", "--quiet"});
  EXPECT_EQ(resumed.at("steps"), 0) << "the settings of the run hold when it is resumed";
}

TEST_F(Training, skipped_steps_in_a_row_end_it_with_the_code_of_divergence) {
  const Result result =
      run(train({"--amp", "f16", "--loss-scale", "16777216", "--max-skips", "1"}));
  EXPECT_EQ(result.code, 5) << result.out;
  EXPECT_TRUE(contains(result.err, "step 1 was skipped: gradient overflow at a loss scale of"))
      << result.err;
  EXPECT_TRUE(contains(result.err, "the first value that is not finite is ")) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
}

TEST_F(Training, flags_that_judge_are_checked) {
  const std::pair<Words, const char*> cases[] = {
      {{"--patience", "-1"}, "--patience"},
      {{"--max-skips", "0"}, "--max-skips"},
      {{"--watch", "beauty"}, "beauty"},
      {{"--min-delta", "-1"}, "--min-delta"},
      {{"--plateau", "1.5"}, "--plateau"},
      {{"--keep-best"}, "--keep-best: needs --output"},
      {{"--watch", "accuracy"}, "--watch: needs --patience, --keep-best or --plateau"},
      {{"--min-delta", "0.1"}, "--min-delta: needs --patience"},
      {{"--min-delta", "0.1", "--plateau", "0.5"}, "--min-delta: needs --patience"},
  };
  for (const auto& [words, text] : cases) {
    const Result result = run(train(words));
    EXPECT_EQ(result.code, 2) << text;
    EXPECT_TRUE(contains(result.err, text)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }
}

TEST_F(Training, each_signal_has_its_exit_code_and_saves) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    const std::string folder = *folder_ / concat("signal", signal);
    const Result result = run(train({"--epochs", "1000", "--output", folder}),
                              {.interrupt_at = "epoch 1/", .interrupt_by = signal});
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(contains(result.err, "train --resume " + folder)) << result.err;
    EXPECT_EQ(run({"evaluate", folder}).code, 0);
  }
}

TEST_F(Training, flags_that_judge_may_be_those_of_the_resumed_run) {
  const std::string folder = *folder_ / "patient";
  done(quiet_json({"--patience", "9", "--output", folder}));
  const Words resumed{"train", "--resume", folder, "--epochs", "3", "--min-delta", "0.5"};
  EXPECT_EQ(run(resumed).code, 0);
}

// A step takes seconds here, so that the second signal comes while the first waits for its end.
TEST_F(Training, a_second_signal_ends_it_at_once) {
  const std::string folder = *folder_ / "twice";
  const Words words{"train",   "--model", "vit-small", "--data", data(),     "--epochs", "1000",
                    "--batch", "256",     "--threads", "1",      "--output", folder};
  const Result result = run(
      words, {.interrupt_at = "epoch 1/", .interrupt_by = SIGINT, .interrupt_again_by = SIGTERM});
  EXPECT_EQ(result.code, 128 + SIGTERM) << result.err;
  EXPECT_FALSE(contains(result.err, "interrupted")) << "the first was obeyed: " << result.err;
}

TEST_F(Training, a_hangup_that_is_ignored_stays_ignored) {
  const Result result =
      run(train({"--epochs", "60"}),
          {.interrupt_at = "epoch 2/", .interrupt_by = SIGHUP, .ignores_hangups = true});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "epoch 60/60")) << result.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::ending_test
