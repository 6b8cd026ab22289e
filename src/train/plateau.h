// SPDX-License-Identifier: Apache-2.0
// The factor of a learning rate that is lowered when a metric no longer gets better.
#pragma once

#include "narrowgauge/optimizer.h"

namespace narrowgauge {

// Follows PyTorch's ReduceLROnPlateau, whose rate is the factor here: at first 1.
class Plateau {
 public:
  // What goes on from one value to the next.
  struct State {
    double factor = 1;         // of the learning rate
    double best = 0;           // value so far
    bool has_best = false;     // whether any value was better than none
    std::int64_t worse = 0;    // values in a row that were no better
    std::int64_t cooling = 0;  // values that are not counted yet
    bool operator==(const State&) const = default;
  };

  // Throws UsageError for settings that make no sense.
  explicit Plateau(const PlateauSettings& settings) : Plateau(settings, State()) {}
  // Goes on from a state.
  Plateau(const PlateauSettings& settings, const State& state);

  // Takes the next value of the metric, and gives the factor from now on. A NaN is no better.
  double next(double value);
  const State& state() const { return state_; }

 private:
  bool is_better(double value) const;
  void lower();

  PlateauSettings settings_;
  State state_;
};

// Throws UsageError naming the first number that makes no sense.
void check(const PlateauSettings& settings);

}  // namespace narrowgauge
