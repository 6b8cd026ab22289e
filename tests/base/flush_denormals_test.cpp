// SPDX-License-Identifier: Apache-2.0
// The floating-point modes of all threads: during a step, and after it.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace narrowgauge::flush_denormals_test {
namespace {

constexpr unsigned flush_bits = 0x8040;
constexpr unsigned flush_to_zero = 0x8000;
constexpr unsigned round_to_zero = 0x6000;

unsigned flush_setting() { return _mm_getcsr() & flush_bits; }
void set_flush(unsigned bits) { _mm_setcsr((_mm_getcsr() & ~flush_bits) | bits); }

float tiny_product() {
  volatile float small = 1e-30F;
  return small * 1e-10F;
}

// Settings seen by the threads of our pool: every thread takes one piece.
std::vector<unsigned> settings_in_pool(int threads) {
  std::vector<unsigned> seen(static_cast<std::size_t>(threads));
  std::atomic<int> begun = 0;
  parallel_for(threads, 1, [&](std::int64_t i, std::int64_t) {
    ++begun;
    while (begun < threads) std::this_thread::yield();
    seen[static_cast<std::size_t>(i)] = _mm_getcsr() & (flush_bits | round_to_zero);
  });
  return seen;
}

TEST(flush_denormals_scope, flushes_in_every_thread_of_the_pool_and_puts_them_back) {
  const ThreadScope threads(3);
  const std::vector<unsigned> before(3, 0), during(3, flush_bits);
  EXPECT_EQ(settings_in_pool(3), before);
  {
    const FlushDenormalsScope scope;
    EXPECT_EQ(settings_in_pool(3), during);
    EXPECT_EQ(tiny_product(), 0.0F);
  }
  EXPECT_EQ(settings_in_pool(3), before);
  EXPECT_NE(tiny_product(), 0.0F);
}

TEST(flush_denormals_scope, keeps_a_setting_that_the_caller_had_before) {
  set_flush(flush_to_zero);
  {
    const FlushDenormalsScope outer;
    { const FlushDenormalsScope inner; }
    EXPECT_EQ(flush_setting(), flush_bits);
  }
  EXPECT_EQ(flush_setting(), flush_to_zero);
  set_flush(0);
}

TEST(flush_denormals_scope, touches_only_the_calling_thread_when_nested) {
  const ThreadScope threads(2);
  std::atomic<int> wrong = 0;
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
    {
      const FlushDenormalsScope scope;
      if (flush_setting() != flush_bits) ++wrong;
    }
    if (flush_setting() != 0) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(parallel_for, shows_the_callers_modes_to_every_thread_during_the_body_only) {
  const ThreadScope threads(3);
  const unsigned own = _mm_getcsr();
  _mm_setcsr(own | flush_to_zero | round_to_zero);
  const auto seen = settings_in_pool(3);
  _mm_setcsr(own);
  EXPECT_EQ(seen, std::vector<unsigned>(3, flush_to_zero | round_to_zero));
  EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, 0));
}

TEST(flush_denormals_scope, reaches_threads_that_are_asked_for_inside) {
  const FlushDenormalsScope scope;
  const ThreadScope more(4);
  EXPECT_EQ(settings_in_pool(4), std::vector<unsigned>(4, flush_bits));
}

}  // namespace
}  // namespace narrowgauge::flush_denormals_test
