// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

// base / sqrt(1 + t / step_every), not less than minimum. With a step_every of warmup_steps it is
// the schedule of Vaswani et al., "Attention is all you need", 2017, section 5.3.
double inverse_square_root_rate(const LearningRate& rate, std::int64_t t) {
  const double times = static_cast<double>(t) / static_cast<double>(rate.step_every);
  return std::max(rate.minimum, rate.base / std::sqrt(1 + times));
}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(inverse_square_root, "inverse_square_root", "falls as one over the root of the steps",
            inverse_square_root_rate, check_step_every)
