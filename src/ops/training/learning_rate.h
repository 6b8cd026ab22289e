// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of the applied steps, computed in the graph.
#pragma once

#include <string>
#include <string_view>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// While fewer than warmup_steps steps are applied: base * (applied_steps + 1) / warmup_steps. Then
// what the schedule (ops/training/schedules) makes of t = applied_steps - warmup_steps. `minimum`
// is a rate, `start` a share of base; a schedule takes those of the numbers that it names.
struct LearningRate {
  static constexpr OpInfo info{.name = "LearningRate",
                               .domain = "ng",
                               .inputs = "applied_steps:i64",
                               .outputs = "learning_rate:S",
                               .types = "S:wide",
                               .stage = Stage::trained};
  std::string schedule = "constant";
  double base = 0.1;
  std::int64_t warmup_steps = 0, total_steps = 0, step_every = 0;
  double step_factor = 0.1, minimum = 0;
  double power = 1, rising_share = 0.3, start = 0.04;
  std::int64_t cycle_growth = 1;
  DType dtype = DType::f32;  // of the rate

  static void attributes(auto& self, auto&& visit) {
    visit("schedule", self.schedule);
    visit("base", self.base);
    visit("warmup_steps", self.warmup_steps);
    visit("total_steps", self.total_steps);
    visit("step_every", self.step_every);
    visit("step_factor", self.step_factor);
    visit("minimum", self.minimum);
    visit("power", self.power);
    visit("rising_share", self.rising_share);
    visit("start", self.start);
    visit("cycle_growth", self.cycle_growth);
    visit("dtype", self.dtype);
  }
  double at(std::int64_t applied_steps) const;
  // Throws UsageError, beginning with `who`, for numbers that make no sense.
  void check(std::string_view who) const;
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
