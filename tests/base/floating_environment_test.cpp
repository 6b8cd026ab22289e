// SPDX-License-Identifier: Apache-2.0
// The floating-point settings of all threads: during a computation, and after it.
#include "base/machine/floating_environment.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "base/threads/parallel.h"

namespace narrowgauge::floating_environment_test {
namespace {

constexpr unsigned usual = 0x1f80;  // all exceptions masked, to nearest, subnormals kept
constexpr unsigned flushing = usual | 0x8040;
constexpr unsigned status_bits = 0x3f;
constexpr unsigned flush_to_zero = 0x8000;
constexpr unsigned round_to_zero = 0x6000;

unsigned settings() { return _mm_getcsr() & ~status_bits; }

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
    seen[static_cast<std::size_t>(i)] = settings();
  });
  return seen;
}

// Puts the calling thread's environment back at the end of a test.
class Kept {
 public:
  Kept() { std::fegetenv(&environment_); }
  ~Kept() { std::fesetenv(&environment_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  std::fenv_t environment_;
};

TEST(floating_environment, flushes_in_every_thread_of_the_pool_and_puts_them_back) {
  const ThreadScope threads(3);
  EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, usual));
  {
    const FloatingEnvironment environment(Subnormals::flush);
    EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, flushing));
    EXPECT_EQ(tiny_product(), 0.0F);
  }
  EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, usual));
  EXPECT_NE(tiny_product(), 0.0F);
}

TEST(floating_environment, keeps_subnormals_where_the_caller_flushes_and_within_one_that_flushes) {
  const Kept kept;
  const ThreadScope threads(3);
  _mm_setcsr(flushing);
  {
    const FloatingEnvironment environment(Subnormals::keep);
    EXPECT_NE(tiny_product(), 0.0F);
    EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, usual));
    {
      const FloatingEnvironment inner(Subnormals::flush);
      EXPECT_EQ(settings(), flushing);
      const FloatingEnvironment innermost(Subnormals::keep);
      EXPECT_EQ(settings(), usual);
    }
    EXPECT_EQ(settings(), usual);
  }
  EXPECT_EQ(settings(), flushing);
}

TEST(floating_environment, rounds_to_nearest_whatever_the_caller_does_and_gives_that_back) {
  const Kept kept;
  const ThreadScope threads(3);
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(rounding);
    {
      const FloatingEnvironment environment(Subnormals::keep);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      volatile long double third = 3;
      EXPECT_EQ(1 / third * 3, 1.0L);  // x87, which has settings of its own
      EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, usual));
    }
    EXPECT_EQ(std::fegetround(), rounding);
  }
}

TEST(floating_environment, masks_exceptions_that_the_caller_traps_and_leaves_his_flags) {
  const Kept kept;
  const ThreadScope threads(3);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_UNDERFLOW);
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  {
    const FloatingEnvironment environment(Subnormals::flush);
    std::atomic<int> wrong = 0;
    parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
      volatile float zero = 0;
      if (1 / zero != std::numeric_limits<float>::infinity() || zero / zero == 0) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_EQ(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_UNDERFLOW);
}

TEST(floating_environment, touches_only_the_calling_thread_when_nested) {
  const ThreadScope threads(2);
  std::atomic<int> wrong = 0;
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
    {
      const FloatingEnvironment environment(Subnormals::flush);
      if (settings() != flushing) ++wrong;
    }
    if (settings() != usual) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(floating_environment, reaches_threads_that_are_asked_for_inside) {
  const FloatingEnvironment environment(Subnormals::flush);
  const ThreadScope more(4);
  EXPECT_EQ(settings_in_pool(4), std::vector<unsigned>(4, flushing));
}

TEST(parallel_for, shows_the_callers_modes_to_every_thread_during_the_body_only) {
  const ThreadScope threads(3);
  const unsigned own = _mm_getcsr();
  _mm_setcsr(own | flush_to_zero | round_to_zero);
  const auto seen = settings_in_pool(3);
  _mm_setcsr(own);
  EXPECT_EQ(seen, std::vector<unsigned>(3, usual | flush_to_zero | round_to_zero));
  EXPECT_EQ(settings_in_pool(3), std::vector<unsigned>(3, usual));
}

}  // namespace
}  // namespace narrowgauge::floating_environment_test
