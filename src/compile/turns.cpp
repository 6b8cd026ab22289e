// SPDX-License-Identifier: Apache-2.0
#include "compile/turns.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "base/threads/parallel.h"

namespace narrowgauge {
namespace {

constexpr std::size_t least_turns = 3, most_turns = 12;
constexpr double long_enough = 60;  // milliseconds
// Tries allowed when the best times do not agree well by then.
constexpr std::size_t most_tries = 4 * most_turns;
constexpr double patience = 500;
// How far apart the two best times of a contestant may be: on a quiet machine, and on one where the
// result still counts.
constexpr double agree_well = 1.05, agree = 1.25;
// How far from what is worth it the quotient of two best times that agree well leaves no doubt.
constexpr double beyond_doubt = 1.08;

// A woken thread waits for some tens of microseconds; one that lost its core waits at least a time
// slice, a millisecond or more.
bool is_spoiled(double waited, double milliseconds) {
  constexpr double wake_up = 0.3, share = 0.1;
  return 1e3 * waited > std::max(wake_up, share * milliseconds);
}

bool two_best_agree(std::vector<double> times, double within) {
  constexpr double clock_noise = 0.02;
  std::partial_sort(times.begin(), times.begin() + 2, times.end());
  return times[1] <= within * times[0] + clock_noise;
}

using Times = std::vector<std::vector<double>>;

// Takes turns until there are enough good ones or patience ends.
class Measurement {
 public:
  Measurement(std::span<const Contestant> contestants, Stopwatch& stopwatch,
              std::optional<double> worth)
      : contestants_(contestants),
        stopwatch_(stopwatch),
        worth_(worth),
        good_(contestants.size()),
        all_(contestants.size()) {}

  Turns run() {
    take_turn(0);
    stopwatch_.waited();
    for (std::size_t turn = 1; !is_enough(); ++turn) {
      const std::vector<double> times = take_turn(turn);
      const double milliseconds = std::accumulate(times.begin(), times.end(), 0.0);
      keep(all_, times);
      spent_ += milliseconds;
      if (is_spoiled(stopwatch_.waited(), milliseconds)) continue;
      keep(good_, times);
      good_spent_ += milliseconds;
    }
    return result();
  }

 private:
  std::vector<double> take_turn(std::size_t turn) {
    std::vector<double> times(contestants_.size());
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      const std::size_t who = (turn + i) % contestants_.size();
      times[who] = contestants_[who]();
    }
    return times;
  }

  bool is_steady(double within) const {
    return good_.front().size() >= least_turns &&
           std::all_of(good_.begin(), good_.end(),
                       [&](const auto& times) { return two_best_agree(times, within); });
  }

  bool is_enough() const {
    const std::size_t good = good_.front().size(), all = all_.front().size();
    if (all >= least_turns && (all >= most_tries || spent_ >= patience)) return true;
    return (good >= most_turns || good_spent_ >= long_enough || is_decided()) &&
           is_steady(agree_well);
  }

  // Whether the good turns tell that another contestant is worth it, or that none is.
  bool is_decided() const {
    if (!worth_ || good_.front().size() < least_turns) return false;
    double others = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& times : std::span(good_).subspan(1))
      others = std::min(others, *std::min_element(times.begin(), times.end()));
    const double first = *std::min_element(good_.front().begin(), good_.front().end());
    return first >= *worth_ * beyond_doubt * others || first * beyond_doubt <= *worth_ * others;
  }

  static void keep(Times& of, const std::vector<double>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) of[i].push_back(times[i]);
  }

  Turns result() {
    const bool steady = is_steady(agree);
    Turns turns{steady ? std::move(good_) : std::move(all_), steady};
    for (std::vector<double>& times : turns.times) std::sort(times.begin(), times.end());
    return turns;
  }

  std::span<const Contestant> contestants_;
  Stopwatch& stopwatch_;
  std::optional<double> worth_;
  Times good_, all_;
  double good_spent_ = 0, spent_ = 0;  // milliseconds
};

}  // namespace

Stopwatch::Stopwatch() : alone_(thread_count() == 1) {}

double Stopwatch::seconds() {
  if (alone_) return thread_seconds();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Stopwatch::waited() {
  if (alone_) return 0;
  if (!wait_) wait_.emplace();
  return wait_->longest();
}

Turns measure_by_turns(std::span<const Contestant> contestants, Stopwatch& stopwatch,
                       std::optional<double> worth) {
  if (contestants.empty()) return {{}, true};
  return Measurement(contestants, stopwatch, worth).run();
}

}  // namespace narrowgauge
