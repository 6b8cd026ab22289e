// SPDX-License-Identifier: Apache-2.0
// Fewer threads than were asked for, or none: a notice each, and the same result.
#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::limits_test {
namespace {

using Limits = Training;

bool warns(const Result& result, const std::string& text) {
  return contains(result.err, "narrowgauge: warning: " + text);
}

TEST_F(Limits, training_needs_no_thread_but_its_own) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer needs a thread of its own";
#endif
  const Words words = quiet_json({"--epochs", "1", "--threads", "3"});
  const Json usual = done(words);
  // The search for leaks would want a thread too.
  const Result alone =
      run(words, {.variables = {{"ASAN_OPTIONS", "detect_leaks=0"}}, .refuse_threads = true});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(Json::parse(last_line(alone.out)).at("weights_sha256"), usual.at("weights_sha256"));
  EXPECT_TRUE(warns(alone, "interrupts: no thread that takes them can be started (")) << alone.err;
  EXPECT_TRUE(warns(alone, "threads: 1 of ")) << alone.err;
  EXPECT_TRUE(warns(alone, "batches: no thread that reads ahead can be started (")) << alone.err;
}

TEST_F(Limits, open_mps_limit_of_threads_holds_for_the_team) {
  const Words words = quiet_json({"--epochs", "1", "--threads", "3"});
  const Json usual = done(words);
  const Result limited = run(words, {.variables = {{"OMP_THREAD_LIMIT", "2"}}});
  ASSERT_EQ(limited.code, 0) << limited.err;
  EXPECT_EQ(Json::parse(last_line(limited.out)).at("weights_sha256"), usual.at("weights_sha256"));
  EXPECT_TRUE(warns(limited, "threads: 3 were asked for, and OMP_THREAD_LIMIT allows 2"))
      << limited.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::limits_test
