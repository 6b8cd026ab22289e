// SPDX-License-Identifier: Apache-2.0
// Every call that changes a file, every loss of power, and many ends at random moments.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "disk/trial.h"

namespace narrowgauge::testing_disk::interruption_slow_test {
namespace {

class EveryCall : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!shim_works) GTEST_SKIP() << "the shim cannot be loaded ahead of a sanitizer";
    ASSERT_NE(std::getenv("NARROWGAUGE_SHIM"), nullptr) << "its path, as ctest sets it";
  }
};

TEST_P(EveryCall, may_be_the_last_of_a_process) {
  Trial trial(GetParam());
  int least = 0, call = 1;
  while (check_end_at(trial, call, least) && !HasFailure()) ++call;
  RecordProperty("calls", call - 1);
  EXPECT_EQ(least, 3);
  EXPECT_GT(call, 100);
}

TEST_P(EveryCall, may_meet_a_full_disk) {
  Trial trial(GetParam());
  int least = 0, call = 1;
  while (check_full_at(trial, call, least) && !HasFailure()) ++call;
  RecordProperty("calls", call - 1);
  EXPECT_GE(least, 2);
}

TEST_P(EveryCall, may_be_the_last_before_the_power_fails) {
  Trial trial(GetParam());
  const int states = check_power_losses(trial, 3, 1);
  RecordProperty("states", states);
  EXPECT_GT(states, 100);
}

INSTANTIATE_TEST_SUITE_P(Over, EveryCall, testing::Values(false, true),
                         [](const auto& over) { return over.param ? "AnOlderRun" : "Nothing"; });

// Starts the program and kills it after some time. Returns false when it had ended by itself.
bool killed_after(const Words& words, std::chrono::microseconds time) {
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    testing_cli::become_program(words, {});
  }
  std::this_thread::sleep_for(time);
  kill(child, SIGKILL);
  const int code = testing_cli::wait_for(child);
  EXPECT_TRUE(code == 128 + SIGKILL || code == 0) << code;
  return code != 0;
}

// A deterministic training in f16, which is killed so often and goes on each time.
struct KilledTraining {
  int kills = 0;
  std::string epochs, every_steps;
  Words more{};

  Words words(const std::string& data, const std::string& output) const {
    Words words{"train",
                "--model",
                "mlp",
                "--data",
                data,
                "--batch",
                "32",
                "--epochs",
                epochs,
                "--deterministic",
                "--amp",
                "f16",
                "--json",
                "--quiet",
                "--output",
                output,
                "--checkpoint-every",
                every_steps};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

double test_loss_of(const std::string& folder) {
  return Json::parse(testing_cli::last_line(run({"evaluate", folder, "--json"}).out))
      .at("test_loss");
}

// Returns how many trainings came to their end.
int expect_the_same_weights(const KilledTraining& training) {
  const TemporaryFolder folder;
  const std::string data = testing_cli::write_tiny_data(folder / "data");
  const auto started = std::chrono::steady_clock::now();
  const Result whole = run(training.words(data, folder / "whole"));
  EXPECT_EQ(whole.code, 0) << whole.err;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const double loss = test_loss_of(folder / "whole");
  std::mt19937 random(1);
  std::uniform_real_distribution<double> moment(0, 0.5 * seconds);
  int kills = 0, rounds = 0;
  for (; kills < training.kills && !testing::Test::HasFailure(); ++rounds) {
    const std::string output = folder / ("run" + std::to_string(rounds));
    Words words = training.words(data, output);
    const auto after = [&] {
      return std::chrono::microseconds(static_cast<long>(1e6 * moment(random)));
    };
    while (kills < training.kills && killed_after(words, after())) {
      ++kills;
      if (run({"evaluate", output, "--json"}).code == 0)
        words = {"train",
                 "--resume",
                 output,
                 "--json",
                 "--quiet",
                 "--checkpoint-every",
                 training.every_steps};
    }
    const Result end = run(words);
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_EQ(last_sha(end), last_sha(whole)) << "after " << kills << " kills";
    EXPECT_EQ(test_loss_of(output), loss) << "after " << kills << " kills";
  }
  return rounds;
}

TEST(random_kills, two_hundred_lead_to_the_same_weights) {
  RecordProperty("rounds", expect_the_same_weights({200, "60", "2"}));
}

TEST(random_kills, twenty_lead_to_the_same_averages_of_weights_from_accumulated_gradients) {
  const KilledTraining training{
      20, "120", "20", {"--accumulate", "4", "--ema-decay", "0.99", "--optimizer", "adam"}};
  RecordProperty("rounds", expect_the_same_weights(training));
}

}  // namespace
}  // namespace narrowgauge::testing_disk::interruption_slow_test
