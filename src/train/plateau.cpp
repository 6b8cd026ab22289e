// SPDX-License-Identifier: Apache-2.0
#include "train/plateau.h"

#include <algorithm>
#include <cmath>

namespace narrowgauge {

void check(const PlateauSettings& settings) {
  constexpr const char* who = "plateau: expected ";
  require(settings.factor > 0 && settings.factor < 1, who, "factor above 0 and below 1, got ",
          settings.factor);
  require(settings.patience >= 0, who, "patience of 0 or more, got ", settings.patience);
  require(settings.threshold >= 0 && std::isfinite(settings.threshold), who,
          "threshold of 0 or more, got ", settings.threshold);
  require(settings.cooldown >= 0, who, "cooldown of 0 or more, got ", settings.cooldown);
  require(settings.minimum >= 0 && settings.minimum <= 1, who, "minimum from 0 to 1, got ",
          settings.minimum);
}

Plateau::Plateau(const PlateauSettings& settings, const State& state)
    : settings_(settings), state_(state) {
  check(settings);
}

double Plateau::next(double value) {
  if (is_better(value)) {
    state_.best = value;
    state_.has_best = true;
    state_.worse = 0;
  } else {
    ++state_.worse;
  }
  if (state_.cooling > 0) {
    --state_.cooling;
    state_.worse = 0;
  }
  if (state_.worse > settings_.patience) lower();
  return state_.factor;
}

bool Plateau::is_better(double value) const {
  const bool less = settings_.mode == PlateauSettings::Mode::min;
  if (!state_.has_best) return less ? value < HUGE_VAL : value > -HUGE_VAL;
  const double margin = less ? -settings_.threshold : settings_.threshold;
  const double bound = settings_.threshold_kind == PlateauSettings::Threshold::relative
                           ? state_.best * (1 + margin)
                           : state_.best + margin;
  return less ? value < bound : value > bound;
}

void Plateau::lower() {
  // A change by less than this is none, as in PyTorch.
  constexpr double least_change = 1e-8;
  const double lowered = std::max(state_.factor * settings_.factor, settings_.minimum);
  if (state_.factor - lowered > least_change) state_.factor = lowered;
  state_.cooling = settings_.cooldown;
  state_.worse = 0;
}

}  // namespace narrowgauge
