// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// In each cycle from base down towards minimum along half a cosine; the first cycle has step_every
// steps, and each other one cycle_growth times as many as the one before: Loshchilov, Hutter,
// "SGDR", 2017.
double cosine_restarts_rate(const LearningRate& rate, std::int64_t t) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t length = rate.step_every;
  if (rate.cycle_growth == 1) t %= length;
  while (t >= length) {
    t -= length;
    length = length > most / rate.cycle_growth ? most : length * rate.cycle_growth;
  }
  const double part = static_cast<double>(t) / static_cast<double>(length);
  return rate.minimum + (rate.base - rate.minimum) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

void check_cosine_restarts(const LearningRate& rate, std::string_view who) {
  check_step_every(rate, who);
  require(rate.cycle_growth >= 1, who, ": expected cycle_growth of 1 or more, got ",
          rate.cycle_growth);
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(cosine_restarts, "cosine_restarts", "falls along half a cosine, again and again",
            cosine_restarts_rate, check_cosine_restarts)
