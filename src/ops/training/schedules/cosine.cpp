// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// From base at t = 0 down to minimum at t = total_steps - warmup_steps, half a cosine (Loshchilov,
// Hutter, "SGDR", 2017, without restarts); minimum from there on.
double at(const LearningRate& rate, std::int64_t t) {
  const double whole = static_cast<double>(rate.total_steps - rate.warmup_steps);
  const double part = std::min(1.0, static_cast<double>(t) / whole);
  return rate.minimum + (rate.base - rate.minimum) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

void check(const LearningRate& rate, std::string_view who) {
  require(rate.total_steps > rate.warmup_steps, who, ": expected total_steps above the ",
          rate.warmup_steps, " of warmup_steps, got ", rate.total_steps);
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(cosine, "cosine", "falls to 0 along half a cosine", at, check)
