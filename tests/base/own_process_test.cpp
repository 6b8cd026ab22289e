// SPDX-License-Identifier: Apache-2.0
// The helper of tests that sees how a call ends.
#include "support/own_process.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "narrowgauge/error.h"

namespace narrowgauge::own_process_test {
namespace {

using testing_support::ends_by_usage_error;
using testing_support::outcome_in_own_process;

TEST(own_process, says_how_a_call_ends) {
  EXPECT_EQ(outcome_in_own_process([] {}), "returned");
  EXPECT_EQ(outcome_in_own_process([] { throw UsageError("so"); }), "UsageError: so");
  EXPECT_EQ(outcome_in_own_process([] { std::function<void()>()(); }),
            "std::bad_function_call: bad_function_call");
  EXPECT_EQ(outcome_in_own_process([] { throw 1; }), "something thrown that is no exception");
#ifndef __SANITIZE_THREAD__
  EXPECT_EQ(outcome_in_own_process([] { _exit(3); }), "exit 3");
  EXPECT_TRUE(outcome_in_own_process([] { std::raise(SIGKILL); }).starts_with("signal 9 ("));
#endif
}

TEST(own_process, knows_errors_of_usage_and_their_kinds) {
  const auto refused = [] { throw DataError("a file is missing"); };
  EXPECT_TRUE(ends_by_usage_error(refused, "file is"));
  EXPECT_FALSE(ends_by_usage_error(refused, "folder"));
  EXPECT_FALSE(ends_by_usage_error([] {}, ""));
  EXPECT_FALSE(ends_by_usage_error([] { throw InternalError("file is"); }, "file is"));
}

TEST(own_process, leaves_this_one_as_it_was) {
#ifndef __SANITIZE_THREAD__
  int value = 1;
  outcome_in_own_process([&] { value = 2; });
  EXPECT_EQ(value, 1);
#endif
}

}  // namespace
}  // namespace narrowgauge::own_process_test
