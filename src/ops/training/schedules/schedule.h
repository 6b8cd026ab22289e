// SPDX-License-Identifier: Apache-2.0
// Schedules of the learning rate. Each is a stem in this folder that the build finds by its mark.
#pragma once

#include <string_view>

#include "base/stem_table.h"
#include "ops/training/schedules/learning_rate.h"

namespace narrowgauge {

struct ScheduleRule {
  std::string_view name, help;
  // The rate after `t` steps since the warm-up.
  double (*at)(const LearningRate& rate, std::int64_t t);
  // Throws UsageError, beginning with `who`, for numbers that the schedule cannot use.
  void (*check)(const LearningRate& rate, std::string_view who);
};

std::vector<const ScheduleRule*> schedules();
// The share that t has of the steps after the warm-up, total_steps - warmup_steps; at most 1.
double share_of_steps(const LearningRate& rate, std::int64_t t);
// Throw UsageError, beginning with `who`: no steps after the warm-up; no length for step_every.
void check_total_steps(const LearningRate& rate, std::string_view who);
void check_step_every(const LearningRate& rate, std::string_view who);

// Throws UsageError, beginning with `who`, for an unknown name.
const ScheduleRule& find_schedule(std::string_view name, std::string_view who = "schedule");

}  // namespace narrowgauge

// NG_SCHEDULE(stem, name, help, at, check) enters a schedule.
#define NG_SCHEDULE(stem, ...) NG_STEM(schedule_table, ScheduleRule, stem, __VA_ARGS__)
