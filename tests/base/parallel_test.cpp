// SPDX-License-Identifier: Apache-2.0
#include "base/threads/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge::parallel_test {
namespace {

using Piece = std::pair<std::int64_t, std::int64_t>;

std::vector<Piece> sorted_pieces(int threads, std::int64_t count, std::int64_t grain) {
  const ThreadScope scope(threads);
  std::mutex mutex;
  std::vector<Piece> pieces;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

TEST(parallel_for, cuts_the_range_into_the_same_pieces_for_any_number_of_threads) {
  for (const std::int64_t count : {0, 1, 6, 7, 8, 1000})
    for (const std::int64_t grain : {1, 7, 1000, 1 << 30}) {
      std::vector<Piece> expected;
      for (std::int64_t begin = 0; begin < count; begin += grain)
        expected.emplace_back(begin, std::min(begin + grain, count));
      for (const int threads : {1, 2, 3, 8})
        EXPECT_EQ(sorted_pieces(threads, count, grain), expected) << count << " by " << grain;
    }
}

TEST(parallel_for, uses_several_threads) {
  const ThreadScope scope(2);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  // Each piece waits until the other one has begun: this ends only with two threads.
  std::atomic<int> begun = 0;
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 2U);
}

TEST(parallel_for, rethrows_the_exception_of_a_body_and_works_after_it) {
  for (const int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    const auto fail = [] {
      parallel_for(100, 1, [](std::int64_t begin, std::int64_t) {
        if (begin >= 37) throw std::out_of_range("piece");
      });
    };
    EXPECT_THROW(fail(), std::out_of_range);
    EXPECT_EQ(sorted_pieces(threads, 100, 1).size(), 100U);
  }
}

TEST(parallel_for, stops_early_when_every_piece_fails) {
  const ThreadScope scope(2);
  std::atomic<int> begun = 0;
  const auto fail = [&] {
    parallel_for(1000, 1, [&](std::int64_t, std::int64_t) {
      ++begun;
      throw std::runtime_error("piece");
    });
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_LE(begun, 2);
}

TEST(parallel_for, runs_in_place_when_nested) {
  const ThreadScope scope(3);
  std::atomic<int> elsewhere = 0, inner_pieces = 0, threads = 0;
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    threads = std::max(threads.load(), thread_count());
    parallel_for(10, 1, [&](std::int64_t, std::int64_t) {
      ++inner_pieces;
      if (std::this_thread::get_id() != outer) ++elsewhere;
    });
  });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(inner_pieces, 80);
  EXPECT_EQ(threads, 1);
}

TEST(parallel_for, passes_exceptions_through_nesting) {
  const ThreadScope scope(2);
  const auto fail = [] {
    parallel_for(4, 1, [](std::int64_t, std::int64_t) {
      parallel_for(4, 1, [](std::int64_t, std::int64_t) { throw UsageError("inner"); });
    });
  };
  EXPECT_THROW(fail(), UsageError);
}

TEST(parallel_for, refuses_a_negative_count_and_a_grain_of_zero) {
  const auto nothing = [](std::int64_t, std::int64_t) {};
  EXPECT_THROW(parallel_for(-1, 1, nothing), InternalError);
  EXPECT_THROW(parallel_for(1, 0, nothing), InternalError);
}

TEST(parallel_for, serves_several_host_threads_at_once) {
  std::atomic<std::int64_t> wrong = 0;
  const auto host = [&](int threads) {
    const ThreadScope scope(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::int64_t> values(997);
      parallel_for(997, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += i;
      });
      if (std::accumulate(values.begin(), values.end(), std::int64_t{0}) != 997 * 996 / 2) ++wrong;
      if (thread_count() != threads) ++wrong;
    }
  };
  std::thread first(host, 2), second(host, 3);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

TEST(thread_scope, refuses_numbers_that_are_not_thread_counts) {
  const int before = thread_count();
  EXPECT_THROW(ThreadScope(0), UsageError);
  EXPECT_THROW(ThreadScope(-3), UsageError);
  EXPECT_THROW(ThreadScope(1 << 20), UsageError);
  EXPECT_EQ(thread_count(), before);
}

TEST(thread_scope, belongs_to_its_host_thread) {
  const ThreadScope scope(7);
  int elsewhere = 0;
  std::thread([&] {
    const ThreadScope other(3);
    elsewhere = thread_count();
  }).join();
  EXPECT_EQ(elsewhere, 3);
  EXPECT_EQ(thread_count(), 7);
}

int thread_count_of_a_new_host_thread() {
  int count = 0;
  std::thread([&] {
    try {
      count = thread_count();
    } catch (const UsageError&) {
      count = -1;
    }
  }).join();
  return count;
}

TEST(thread_count, follows_the_environment_variable) {
  setenv("NARROWGAUGE_THREADS", "5", 1);
  EXPECT_EQ(thread_count_of_a_new_host_thread(), 5);
  for (const char* wrong : {"0", "-1", "two", "2x", "1000000", "99999999999999999999"}) {
    setenv("NARROWGAUGE_THREADS", wrong, 1);
    EXPECT_EQ(thread_count_of_a_new_host_thread(), -1) << wrong;
  }
  unsetenv("NARROWGAUGE_THREADS");
  const int count = thread_count_of_a_new_host_thread();
  EXPECT_GE(count, 1);
  EXPECT_LE(count, hardware_threads());
}

}  // namespace
}  // namespace narrowgauge::parallel_test
