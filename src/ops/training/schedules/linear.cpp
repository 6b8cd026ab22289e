// SPDX-License-Identifier: Apache-2.0
#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// From base at t = 0 down to minimum at t = total_steps - warmup_steps; minimum from there on.
double linear_rate(const LearningRate& rate, std::int64_t t) {
  return rate.base + (rate.minimum - rate.base) * share_of_steps(rate, t);
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(linear, "linear", "falls to 0 in a line", linear_rate, check_total_steps)
