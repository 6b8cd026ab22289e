// SPDX-License-Identifier: Apache-2.0
#include "base/threads/job.h"

#include <immintrin.h>

namespace narrowgauge {
namespace {

constexpr std::uint32_t one_inside = 1, inside = 0xfff;
constexpr std::uint32_t one_place = 0x1000, places = 0xfff000;
constexpr std::uint32_t asleep = 1u << 24, claimed = 1u << 25;

constexpr unsigned status_bits = 0x3f;  // MXCSR: exceptions seen; each thread's own affair

// Gives a worker the host thread's rounding and flushing modes while it works for it: an element
// must not depend on the thread that computes it.
class FloatingModes {
 public:
  explicit FloatingModes(unsigned modes) : own_(_mm_getcsr()) {
    if ((own_ ^ modes) & ~status_bits) _mm_setcsr((modes & ~status_bits) | (own_ & status_bits));
  }
  ~FloatingModes() {
    const unsigned now = _mm_getcsr();
    if ((own_ ^ now) & ~status_bits) _mm_setcsr((own_ & ~status_bits) | (now & status_bits));
  }
  FloatingModes(const FloatingModes&) = delete;
  FloatingModes& operator=(const FloatingModes&) = delete;

 private:
  unsigned own_;
};

}  // namespace

bool Job::claim() {
  std::uint32_t unclaimed = 0;
  return state_.load(std::memory_order_relaxed) == 0 &&
         state_.compare_exchange_strong(unclaimed, claimed, std::memory_order_acquire);
}

void Job::open(std::int64_t pieces, int places_for_workers, const Piece& piece) {
  piece_ = &piece;
  pieces_ = pieces;
  modes_ = _mm_getcsr();
  taken_.store(0, std::memory_order_relaxed);
  from_behind_.store(0, std::memory_order_relaxed);
  state_.store(claimed | static_cast<std::uint32_t>(places_for_workers) * one_place,
               std::memory_order_release);
}

template <class Next>
void Job::take_each(const Next& next) {
  for (std::int64_t i; (i = taken_.fetch_add(1, std::memory_order_relaxed)) < pieces_;) {
    if (i == pieces_ - 1) state_.fetch_and(~places, std::memory_order_relaxed);
    (*piece_)(next());
  }
}

void Job::take_all() {
  std::int64_t next = 0;
  take_each([&] { return next++; });
}

void Job::finish(std::chrono::nanoseconds spin) {
  // The worker that took the last piece may not have closed the job yet.
  state_.fetch_and(~places, std::memory_order_relaxed);
  const auto all_left = [&] { return (state_.load(std::memory_order_acquire) & inside) == 0; };
  if (!spin_until(all_left, spin)) {
    std::uint32_t seen = state_.fetch_or(asleep, std::memory_order_acquire) | asleep;
    for (; seen & inside; seen = state_.load(std::memory_order_acquire)) sleep_while(state_, seen);
  }
  state_.store(0, std::memory_order_release);
}

bool Job::enter() {
  std::uint32_t seen = state_.load(std::memory_order_relaxed);
  while (seen & places)
    if (state_.compare_exchange_weak(seen, seen - one_place + one_inside, std::memory_order_acquire,
                                     std::memory_order_relaxed))
      return true;
  return false;
}

void Job::leave() {
  const std::uint32_t before = state_.fetch_sub(one_inside, std::memory_order_release);
  if ((before & asleep) && (before & inside) == one_inside) wake(state_, 1);
}

bool Job::help() {
  if (!enter()) return false;
  {
    const FloatingModes as_the_host(modes_);
    take_each([&] { return pieces_ - 1 - from_behind_.fetch_add(1, std::memory_order_relaxed); });
  }
  leave();
  return true;
}

void Job::forget_workers(bool is_claimed) { state_.store(is_claimed ? claimed : 0); }

}  // namespace narrowgauge
