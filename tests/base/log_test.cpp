// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace narrowgauge::log_test {
namespace {

class Log : public testing::Test {
 protected:
  ~Log() override { set_log_sink({}); }
};

TEST_F(Log, goes_to_the_sink_or_nowhere) {
  std::vector<std::string> seen;
  log(LogLevel::warning, "dropped");
  set_log_sink([&](LogLevel level, const std::string& message) {
    seen.push_back((level == LogLevel::warning ? "warning: " : "") + message);
  });
  log(LogLevel::warning, "first");
  log(LogLevel::info, "second");
  set_log_sink({});
  log(LogLevel::info, "dropped");
  EXPECT_EQ(seen, (std::vector<std::string>{"warning: first", "second"}));
}

TEST_F(Log, lets_a_sink_replace_itself) {
  int calls = 0;
  set_log_sink([&](LogLevel, const std::string&) {
    ++calls;
    set_log_sink({});
  });
  log(LogLevel::info, "once");
  log(LogLevel::info, "never");
  EXPECT_EQ(calls, 1);
}

TEST_F(Log, bears_threads_that_log_while_the_sink_is_replaced) {
  std::atomic<int> calls = 0;
  const auto sink = [&](LogLevel, const std::string&) { ++calls; };
  set_log_sink(sink);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int message = 0; message < 1000; ++message) log(LogLevel::info, "message");
    });
  for (int i = 0; i < 1000; ++i) set_log_sink(sink);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 4000);
}

}  // namespace
}  // namespace narrowgauge::log_test
