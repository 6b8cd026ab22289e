// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// Half a cosine from one rate to the other.
double between(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

// Smith, Topin, "Super-convergence: very fast training of neural networks using large learning
// rates", 2018, with cosines, as PyTorch's OneCycleLR counts its steps: up from start * base to
// base at the step rising_share * total_steps - 1, which need not be a whole one, and down to
// minimum at the last one, total_steps - 1; minimum from there on.
double one_cycle_rate(const LearningRate& rate, std::int64_t t) {
  const auto total = static_cast<double>(rate.total_steps), now = static_cast<double>(t);
  const double top = rate.rising_share * total - 1, last = total - 1;
  if (now < top) return between(rate.start * rate.base, rate.base, now / top);
  return between(rate.base, rate.minimum, std::min(1.0, (now - top) / (last - top)));
}

void check_one_cycle(const LearningRate& rate, std::string_view who) {
  check_total_steps(rate, who);
  require(rate.warmup_steps == 0, who,
          ": expected warmup_steps of 0 with one_cycle, which grows by itself, got ",
          rate.warmup_steps);
  require(rate.rising_share >= 0 && rate.rising_share < 1, who,
          ": expected rising_share from 0 to below 1, got ", rate.rising_share);
  require(rate.start >= 0 && rate.start <= 1, who, ": expected start from 0 to 1, got ",
          rate.start);
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(one_cycle, "one_cycle", "grows, then falls to 0", one_cycle_rate, check_one_cycle)
