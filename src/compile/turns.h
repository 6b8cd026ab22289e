// SPDX-License-Identifier: Apache-2.0
// Measures in turns what is fastest, so that other load on the machine meets all contestants alike,
// and tells when that load was too high to measure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/machine/core_time.h"

namespace narrowgauge {

// Times work in the threads that the caller has now. One thread alone is timed by the core time it
// gets, which other programs cannot spoil; several are timed by wall clock.
class Stopwatch {
 public:
  Stopwatch();
  virtual ~Stopwatch() = default;
  virtual double seconds();  // now
  // The longest that a thread of this process has waited for a core since the last call, in
  // seconds; 0 for one thread alone.
  virtual double waited();

 private:
  bool alone_;
  std::optional<CoreWait> wait_;
};

// Runs once and returns the milliseconds.
using Contestant = std::function<double()>;

struct Turns {
  // Sorted milliseconds of each contestant: of the turns in which no thread waited for a core, or
  // of all turns if not steady.
  std::vector<std::vector<double>> times;
  // Whether there were such turns and the two best times of each contestant agree.
  bool steady = false;
};

// Warms up in a first turn; then all contestants run once a turn, in changing order. Slow ones get
// fewer turns, unsteady ones more, within half a second or the least of three turns. With `worth`,
// three turns are enough where they leave no doubt whether another contestant is that many times as
// fast as the first: for a caller that goes by nothing else.
Turns measure_by_turns(std::span<const Contestant> contestants, Stopwatch& stopwatch,
                       std::optional<double> worth = {});

}  // namespace narrowgauge
