// SPDX-License-Identifier: Apache-2.0
#include "ops/training/schedules/schedule.h"

namespace narrowgauge {

const ScheduleRule& find_schedule(std::string_view name, std::string_view who) {
  const ScheduleRule* rule = find_record(schedules(), name);
  require(rule, who, ": expected one of ", listed_names(schedules()), ", got '", name, '\'');
  return *rule;
}

}  // namespace narrowgauge
