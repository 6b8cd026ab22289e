// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// From base at t = 0 down to minimum at t = total_steps - warmup_steps, half a cosine (Loshchilov,
// Hutter, "SGDR", 2017, without restarts); minimum from there on.
double cosine_rate(const LearningRate& rate, std::int64_t t) {
  const double part = share_of_steps(rate, t);
  return rate.minimum + (rate.base - rate.minimum) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(cosine, "cosine", "falls to 0 along half a cosine", cosine_rate, check_total_steps)
