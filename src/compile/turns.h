// SPDX-License-Identifier: Apache-2.0
// Measuring what is fastest by turns, so that what else the machine does meets all alike, and
// telling whether it did too much to tell.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/core_time.h"

namespace narrowgauge {

// For work in the threads that the caller has now. One thread alone is timed while it has a core:
// others cannot spoil that. Several are timed by the clock on the wall.
class Stopwatch {
 public:
  Stopwatch();
  virtual ~Stopwatch() = default;
  virtual double seconds();  // now
  // Seconds that some thread of this process has waited for a core since the last call; 0 for one
  // thread alone.
  virtual double waited();

 private:
  bool alone_;
  std::optional<CoreWait> wait_;
};

// One run; milliseconds.
using Contestant = std::function<double()>;

struct Turns {
  // Of each contestant, sorted: milliseconds of the turns in which no thread waited for a core; of
  // all turns where it is not steady.
  std::vector<std::vector<double>> times;
  // Whether some turns were such, and the two best times of each contestant agree.
  bool steady = false;
};

// A first turn warms up; then all run once in each turn, who begins changes. Fewer turns where they
// take long, more until it is steady, within half a second or the three turns that are the least.
Turns measure_by_turns(std::span<const Contestant> contestants, Stopwatch& stopwatch);

}  // namespace narrowgauge
