// SPDX-License-Identifier: Apache-2.0
// In a host program that uses OpenMP, and under the variables that steer it.
#include "base/machine/openmp.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/machine/cores.h"
#include "base/threads/parallel.h"

namespace narrowgauge::openmp_test {
namespace {

TEST(parallel_for, runs_in_place_in_a_parallel_region_of_the_host) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer does not see libgomp's barriers";
#endif
  std::atomic<int> elsewhere = 0, pieces = 0;
#pragma omp parallel num_threads(2)
  {
    const auto host = std::this_thread::get_id();
    parallel_for(10, 1, [&](std::int64_t, std::int64_t) {
      ++pieces;
      if (std::this_thread::get_id() != host) ++elsewhere;
    });
  }
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(pieces, 20);
}

TEST(thread_scope, leaves_open_mp_to_the_host) {
  omp_set_num_threads(3);
  const ThreadScope outer(5);
  {
    const ThreadScope inner(2);
    EXPECT_EQ(thread_count(), 2);
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(thread_count(), 5);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST(one_open_mp_thread, holds_in_the_calling_thread_and_puts_the_hosts_number_back) {
  omp_set_num_threads(3);
  {
    const OneOpenMpThread one;
    EXPECT_EQ(omp_get_max_threads(), 1);
    const OneOpenMpThread nested;
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
}

// The most cores that a worker of a team of two may run on.
int cores_of_a_worker() {
  const ThreadScope scope(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun = 0, cores = 0;
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    cpu_set_t mask;
    if (std::this_thread::get_id() != caller && sched_getaffinity(0, sizeof mask, &mask) == 0)
      cores = CPU_COUNT(&mask);
  });
  return cores;
}

// Each starts this program again, as OpenMP reads the variables when it is loaded.
class OpenMpVariables : public testing::Test {
 protected:
  OpenMpVariables() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~OpenMpVariables() override {
    for (const char* name : {"OMP_PROC_BIND", "OMP_THREAD_LIMIT", "OMP_NUM_THREADS"})
      unsetenv(name);
  }
};

void end_as(bool right) {
  std::cerr << (right ? "right" : "wrong") << std::endl;
  std::exit(right ? 0 : 1);
}

TEST_F(OpenMpVariables, binding_does_not_put_the_team_on_one_core) {
  const int cores = affinity_cores();
  if (cores < 2) GTEST_SKIP() << "one core";
  setenv("OMP_PROC_BIND", "true", 1);
  EXPECT_EXIT(
      end_as(affinity_cores() == cores && thread_count() == cores && cores_of_a_worker() == cores),
      testing::ExitedWithCode(0), "right");
}

TEST_F(OpenMpVariables, thread_limit_caps_the_team_and_says_so_once) {
  setenv("OMP_THREAD_LIMIT", "2", 1);
  EXPECT_EXIT(
      {
        std::atomic<int> notices = 0;
        set_log_sink([&](LogLevel, const std::string& text) {
          ++notices;
          std::cerr << text << std::endl;
        });
        std::mutex mutex;
        std::set<std::thread::id> workers;
        for (int repeat = 0; repeat < 20; ++repeat) {
          const ThreadScope scope(4);
          parallel_for(50, 1, [&](std::int64_t, std::int64_t) {
            const std::lock_guard lock(mutex);
            workers.insert(std::this_thread::get_id());
          });
        }
        end_as(notices == 1 && workers.size() <= 2);
      },
      testing::ExitedWithCode(0), "4 were asked for, and OMP_THREAD_LIMIT allows 2\nright");
}

TEST_F(OpenMpVariables, num_threads_is_the_default) {
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EXIT(end_as(thread_count() == 1), testing::ExitedWithCode(0), "right");
}

}  // namespace
}  // namespace narrowgauge::openmp_test
