// SPDX-License-Identifier: Apache-2.0
// How kernels schedule tasks on threads, and count results that became zero.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// Calls body(task, worker) for each task, in any order; a worker is one thread at a time. Each
// begins with tasks of its own, the same ones from call to call, so that a thread finds in its
// caches what it left there, and then takes what is left of the others'.
template <class Body>
void hand_out(std::int64_t tasks, std::int64_t workers, const Body& body) {
  constexpr std::int64_t most_ranges = 16;
  struct alignas(64) Range {
    std::atomic<std::int64_t> next;
  };
  workers = std::min(tasks, workers);
  const std::int64_t ranges = std::min(workers, most_ranges);
  Range begun[most_ranges];
  for (std::int64_t i = 0; i < ranges; ++i) begun[i].next = i * tasks / ranges;
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t i = 0; i < ranges; ++i) {
        const std::int64_t range = (worker + i) % ranges, last = (range + 1) * tasks / ranges;
        for (std::int64_t task;
             (task = begun[range].next.fetch_add(1, std::memory_order_relaxed)) < last;)
          body(task, worker);
      }
  });
}

// The range of a part, where `count` things are cut into as equal parts as can be.
struct Part {
  std::int64_t begin, end;
};
constexpr Part part_of(std::int64_t count, std::int64_t parts, std::int64_t part) {
  return {part * count / parts, (part + 1) * count / parts};
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_divide(value, unit) * unit;
}

// Counts, over several threads, the results that became zero, as Prepared reports them.
class FlushedCount {
 public:
  void add(std::int64_t flushed) { flushed_.fetch_add(flushed, std::memory_order_relaxed); }
  void report(const Call& call, DType dtype) const {
    if (call.flushed && dtype == DType::f16)
      std::atomic_ref(*call.flushed).fetch_add(flushed_.load(), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> flushed_{0};
};

}  // namespace narrowgauge::cpu
