// SPDX-License-Identifier: Apache-2.0
// Waiting for another thread: a spin bounded by time, then sleep in the kernel.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace narrowgauge {

using Word = std::atomic<std::uint32_t>;

// Whether the condition came true within the time.
template <class Condition>
bool spin_until(const Condition& condition, std::chrono::nanoseconds time) {
  using Clock = std::chrono::steady_clock;
  if (condition()) return true;
  if (time.count() == 0) return false;
  const Clock::time_point end = Clock::now() + time;
  do {
    for (int i = 0; i < 8; ++i) {
      _mm_pause();
      if (condition()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

// Returns when woken, at once if the word is not `value`, and sometimes without a reason.
void sleep_while(const Word& word, std::uint32_t value);
void wake(const Word& word, int threads);  // at most so many of those that sleep on the word

}  // namespace narrowgauge
