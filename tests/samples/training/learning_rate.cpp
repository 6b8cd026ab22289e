// SPDX-License-Identifier: Apache-2.0
#include "ops/training/learning_rate.h"

#include "ops/training/schedules/schedule.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LearningRate>> learning_rate_samples() {
  std::vector<Sample<LearningRate>> all;
  for (const double applied : {0, 3, 50, 1000})
    for (const ScheduleRule* rule : schedules()) {
      LearningRate op;
      op.schedule = rule->name;
      op.warmup_steps = op.schedule == "one_cycle" ? 0 : 5;
      op.total_steps = 100;
      op.step_every = 20;
      all.push_back({op, {sample(Tensor::scalar(DType::i64, applied))}});
    }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(learning_rate, learning_rate_samples())
