// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// base * step_factor^(t / step_every), the smooth form of `step`; not less than minimum
double exponential_rate(const LearningRate& rate, std::int64_t t) {
  const double times = static_cast<double>(t) / static_cast<double>(rate.step_every);
  return std::max(rate.minimum, rate.base * std::pow(rate.step_factor, times));
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(exponential, "exponential", "falls by a factor over so many steps, evenly",
            exponential_rate, check_step_every)
