// SPDX-License-Identifier: Apache-2.0
#include "ops/training/schedules/schedule.h"

#include <algorithm>

namespace narrowgauge {

double share_of_steps(const LearningRate& rate, std::int64_t t) {
  const double whole = static_cast<double>(rate.total_steps - rate.warmup_steps);
  return std::min(1.0, static_cast<double>(t) / whole);
}

void check_total_steps(const LearningRate& rate, std::string_view who) {
  require(rate.total_steps > rate.warmup_steps, who, ": expected total_steps above the ",
          rate.warmup_steps, " of warmup_steps, got ", rate.total_steps);
}

void check_step_every(const LearningRate& rate, std::string_view who) {
  require(rate.step_every >= 1, who, ": expected step_every of 1 or more, got ", rate.step_every);
}

const ScheduleRule& find_schedule(std::string_view name, std::string_view who) {
  using Table = std::vector<const ScheduleRule*>;
  static const Table& table = immortal<const Table>(schedules());
  const ScheduleRule* const rule = find_record(table, name);
  if (!rule)
    throw UsageError(concat(who, ": expected one of ", listed_names(table), ", got '", name, '\''));
  return *rule;
}

}  // namespace narrowgauge
