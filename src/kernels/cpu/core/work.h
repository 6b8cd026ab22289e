// SPDX-License-Identifier: Apache-2.0
// How kernels hand out tasks to threads, and count results that became zero.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// Calls body(task, worker) for each task, in any order; a worker is one thread at a time. The first
// worker begins with the first task and the others with the last, as parallel_for has it.
template <class Body>
void hand_out(std::int64_t tasks, std::int64_t workers, const Body& body) {
  std::atomic<std::int64_t> taken{0}, from_behind{0};
  parallel_for(std::min(tasks, workers), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t i = 0; taken.fetch_add(1, std::memory_order_relaxed) < tasks; ++i)
        body(worker == 0 ? i : tasks - 1 - from_behind.fetch_add(1, std::memory_order_relaxed),
             worker);
  });
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
