// SPDX-License-Identifier: Apache-2.0
#include "ops/training/schedules/schedule.h"

namespace narrowgauge {
namespace {

double constant_rate(const LearningRate& rate, std::int64_t) { return rate.base; }

void check_constant(const LearningRate&, std::string_view) {}

}  // namespace
}  // namespace narrowgauge

NG_SCHEDULE(constant, "constant", "stays as it is", constant_rate, check_constant)
