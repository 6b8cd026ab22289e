// SPDX-License-Identifier: Apache-2.0
// A plug-in of a host program that knows nothing of narrowgauge; its own copy of the team works.
#include <atomic>

#include "base/threads/parallel.h"

extern "C" __attribute__((visibility("default"))) std::int64_t sum_with_three_threads() {
  const narrowgauge::ThreadScope scope(3);
  std::atomic<std::int64_t> sum = 0;
  narrowgauge::parallel_for(100, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
  return sum;
}
