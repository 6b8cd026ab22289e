// SPDX-License-Identifier: Apache-2.0
// The team where things go wrong: threads that come late, forks, limits, many callers.
#include "base/threads/team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"

namespace narrowgauge::team_test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

#ifdef __SANITIZE_THREAD__
constexpr bool can_fork = false;  // the thread sanitizer starts no threads in a child
#else
constexpr bool can_fork = true;
#endif

std::int64_t sum_of(std::int64_t count, int threads) {
  const ThreadScope scope(threads);
  std::atomic<std::int64_t> sum = 0;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
  return sum;
}

TEST(team, waits_for_no_worker_that_has_yet_to_come) {
  sum_of(100, 2);  // starts the worker
  // The worker is held in another job as one that the scheduler holds elsewhere.
  std::atomic<bool> held = false, go_on = false;
  std::thread other([&] {
    const ThreadScope scope(2);
    std::atomic<int> begun = 0;
    parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      held = ++begun == 2;
      while (!go_on) std::this_thread::sleep_for(1ms);
    });
  });
  while (!held) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(sum_of(100, 2), 4950);  // would wait for ever
  go_on = true;
  other.join();
}

TEST(team, a_thread_that_is_slow_costs_its_piece_only) {
  const ThreadScope scope(2);
  sum_of(100, 2);
  std::atomic<int> others = 0;
  std::atomic<bool> late = false;
  parallel_for(200, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin != 0) {
      ++others;
      return;
    }
    const auto end = Clock::now() + 10s;
    while (others < 199 && Clock::now() < end) std::this_thread::sleep_for(1ms);
    late = others < 199;
  });
  EXPECT_FALSE(late);
}

TEST(team, serves_more_callers_than_it_has_places_for) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 24; ++caller)
    callers.emplace_back([&, caller] {
      for (int repeat = 0; repeat < 100; ++repeat)
        if (sum_of(200, 1 + caller % 4) != 19900) ++wrong;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(team, has_no_more_workers_than_the_most_that_were_asked_for) {
  std::mutex mutex;
  std::set<std::thread::id> workers;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      const ThreadScope scope(4);
      const auto self = std::this_thread::get_id();
      for (int repeat = 0; repeat < 50; ++repeat)
        parallel_for(50, 1, [&](std::int64_t, std::int64_t) {
          const std::lock_guard lock(mutex);
          if (self != std::this_thread::get_id()) workers.insert(std::this_thread::get_id());
        });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(workers.size(), 3U);
}

TEST(team, workers_leave_signals_to_the_host) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  EXPECT_EQ(sigismember(&before, SIGINT), 0);
  const ThreadScope scope(3);
  const auto host = std::this_thread::get_id();
  std::atomic<int> begun = 0, open = 0;
  parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    while (begun < 3) std::this_thread::yield();
    sigset_t own;
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    if (std::this_thread::get_id() == host) return;
    if (!sigismember(&own, SIGINT) || !sigismember(&own, SIGTERM) || sigismember(&own, SIGSEGV))
      ++open;
  });
  EXPECT_EQ(open, 0);
}

TEST(team, sleeps_where_there_is_nothing_to_do) {
  sum_of(100, 2);
  std::this_thread::sleep_for(100ms);
  const auto cpu_time = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
  };
  const double before = cpu_time();
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(cpu_time() - before, 20);  // milliseconds
}

// Runs `child` in a child of this process, for at most half a minute; its exit code.
template <class Child>
int in_child(const Child& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(30);
    _exit(child());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(team, begins_anew_in_a_child) {
  if (!can_fork) GTEST_SKIP() << "no threads after fork() under the thread sanitizer";
  EXPECT_EQ(sum_of(1000, 3), 499500);
  const auto compute = [] {
    for (int repeat = 0; repeat < 50; ++repeat)
      if (sum_of(1000, 3) != 499500) return 1;
    return 0;
  };
  EXPECT_EQ(in_child([&] { return compute() + in_child(compute); }), 0);
  EXPECT_EQ(compute(), 0);
}

TEST(team, begins_anew_in_a_child_of_a_process_at_work) {
  if (!can_fork) GTEST_SKIP() << "no threads after fork() under the thread sanitizer";
  std::atomic<bool> stop = false;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      while (!stop) sum_of(100, 3);
    });
  for (int child = 0; child < 50; ++child)
    EXPECT_EQ(in_child([] { return sum_of(1000, 3) == 499500 ? 0 : 1; }), 0);
  stop = true;
  for (std::thread& caller : callers) caller.join();
}

TEST(team, a_fork_within_a_piece_does_not_hang) {
  if (!can_fork) GTEST_SKIP() << "no threads after fork() under the thread sanitizer";
  std::atomic<int> wrong = 0;
  const ThreadScope scope(2);
  parallel_for(20, 1, [&](std::int64_t, std::int64_t) {
    if (in_child([] { return sum_of(100, 2) == 4950 ? 0 : 1; }) != 0) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(team, goes_on_with_fewer_threads_where_the_system_gives_no_more) {
  if (!can_fork) GTEST_SKIP() << "no threads after fork() under the thread sanitizer";
  const int code = in_child([] {
    // The limit does not hold for root.
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return 1;
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2;
    int notices = 0;
    set_log_sink([&](LogLevel level, const std::string& text) {
      if (level == LogLevel::warning && text.starts_with("threads: 1 of 3 work, ")) ++notices;
    });
    for (int repeat = 0; repeat < 10; ++repeat)
      if (sum_of(1000, 3) != 499500) return 3;
    return notices == 1 ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
}

TEST(team, ends_with_the_program) {
  if (!can_fork) GTEST_SKIP() << "no threads after fork() under the thread sanitizer";
  EXPECT_EXIT(
      {
        sum_of(1000, 3);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace narrowgauge::team_test
