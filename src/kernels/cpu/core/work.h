// SPDX-License-Identifier: Apache-2.0
// How kernels hand out tasks to threads, and count results that became zero.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// Calls body(task, worker) for each task, in any order; a worker is one thread at a time.
template <class Body>
void hand_out(std::int64_t tasks, std::int64_t workers, const Body& body) {
  std::atomic<std::int64_t> next{0};
  parallel_for(std::min(tasks, workers), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
        body(task, worker);
  });
}

// The same, where neighbouring tasks are those of neighbouring memory. Each worker begins with a
// share of its own, the same one in each kernel, so that it finds in its cache what it stored in
// the kernel before; then it helps with the others' shares.
template <class Body>
void hand_out_shares(std::int64_t tasks, std::int64_t workers, const Body& body) {
  const std::int64_t shares = std::min(tasks, workers);
  const auto begin = [&](std::int64_t share) { return share * tasks / shares; };
  struct alignas(128) Counter {  // alone on its lines of cache
    std::atomic<std::int64_t> next{0};
  };
  std::vector<Counter> counters(static_cast<std::size_t>(shares));
  for (std::int64_t share = 0; share < shares; ++share)
    counters[static_cast<std::size_t>(share)].next.store(begin(share), std::memory_order_relaxed);
  parallel_for(shares, 1, [&](std::int64_t worker, std::int64_t) {
    for (std::int64_t i = 0; i < shares; ++i) {
      const std::int64_t share = (worker + i) % shares, end = begin(share + 1);
      auto& next = counters[static_cast<std::size_t>(share)].next;
      for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < end;)
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
