// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// base * step_factor^floor(t / step_every), not less than minimum
double step_rate(const LearningRate& rate, std::int64_t t) {
  const auto times = static_cast<double>(t / rate.step_every);
  return std::max(rate.minimum, rate.base * std::pow(rate.step_factor, times));
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(step, "step", "falls by a factor every so many steps", step_rate, check_step_every)
