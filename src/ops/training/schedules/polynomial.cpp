// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// From base at t = 0 down to minimum at t = total_steps - warmup_steps, by the share of the steps
// that are left to the power of `power`; minimum from there on.
double polynomial_rate(const LearningRate& rate, std::int64_t t) {
  const double left = 1 - share_of_steps(rate, t);
  return rate.minimum + (rate.base - rate.minimum) * std::pow(left, rate.power);
}

void check_polynomial(const LearningRate& rate, std::string_view who) {
  check_total_steps(rate, who);
  require(rate.power > 0 && std::isfinite(rate.power), who, ": expected power above 0, got ",
          rate.power);
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(polynomial, "polynomial", "falls to 0 by a power of the steps left", polynomial_rate,
            check_polynomial)
