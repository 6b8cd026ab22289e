// SPDX-License-Identifier: Apache-2.0
// Batches in parts and averages of weights, from flags.
#include <fstream>
#include <iterator>

#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::averages_test {
namespace {

using Averages = Training;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Averages, are_what_a_run_is_tested_by_and_keeps) {
  const std::string run_folder = *folder_ / "run", tuned = *folder_ / "tuned.onnx";
  const Json usual = done(quiet_json({}));
  const Json trained = done(quiet_json(
      {"--ema-decay", "0.9", "--accumulate", "4", "--output", run_folder, "--onnx", tuned}));
  EXPECT_EQ(trained.at("ema_decay"), 0.9);
  EXPECT_NE(trained.at("test_loss"), usual.at("test_loss"));
  EXPECT_NEAR(trained.at("final_loss"), usual.at("final_loss"), 1e-4);
  const Json evaluated = done({"evaluate", run_folder, "--json"});
  EXPECT_EQ(evaluated.at("test_loss"), trained.at("test_loss"));
  const std::string exported = *folder_ / "exported.onnx";
  ASSERT_EQ(run({"export", run_folder, "--onnx", exported}).code, 0);
  EXPECT_EQ(bytes_of(exported), bytes_of(tuned));
}

TEST_F(Averages, go_on_in_a_resumed_run) {
  const Words flags{"--ema-decay",     "0.9",        "--accumulate", "2",
                    "--deterministic", "--schedule", "constant",     "--epochs"};
  Words whole = flags, part = flags;
  whole.insert(whole.end(), {"4", "--output", *folder_ / "whole"});
  part.insert(part.end(), {"2", "--output", *folder_ / "part"});
  const Json undisturbed = done(quiet_json(whole));
  done(quiet_json(part));
  const Json resumed =
      done({"train", "--resume", *folder_ / "part", "--epochs", "4", "--json", "--quiet"});
  EXPECT_EQ(resumed.at("weights_sha256"), undisturbed.at("weights_sha256"));
  EXPECT_EQ(resumed.at("test_loss"), undisturbed.at("test_loss"));
}

TEST_F(Averages, and_parts_that_make_no_sense_are_refused) {
  const auto expect_refused = [](const Words& more, const std::string& message) {
    const Result result = run(train(more));
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(contains(result.err, message)) << result.err;
  };
  expect_refused({"--ema-decay", "1"}, "--ema-decay: expected a number from 0 to below 1, got 1");
  expect_refused({"--ema-decay", "-0.5"}, "--ema-decay: expected a number from 0");
  expect_refused({"--accumulate", "0"}, "--accumulate");
  expect_refused({"--accumulate", "3"}, "a batch of 32 cannot be cut into 3 equal parts");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::averages_test
