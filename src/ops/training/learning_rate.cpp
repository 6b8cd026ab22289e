// SPDX-License-Identifier: Apache-2.0
#include "ops/training/learning_rate.h"

#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "ops/training/schedules/schedule.h"

namespace narrowgauge {

double LearningRate::at(std::int64_t applied_steps) const {
  if (applied_steps < warmup_steps)
    return base * static_cast<double>(applied_steps + 1) / static_cast<double>(warmup_steps);
  return find_schedule(schedule).at(*this, applied_steps - warmup_steps);
}

void LearningRate::check(std::string_view who) const {
  require(base >= 0 && minimum >= 0, who, ": base and minimum must not be negative, got ", base,
          " and ", minimum);
  require(warmup_steps >= 0, who, ": expected warmup_steps of 0 or more, got ", warmup_steps);
  require(step_factor > 0, who, ": expected a factor above 0, got ", step_factor);
  find_schedule(schedule, who).check(*this, who);
}

TensorTypes LearningRate::infer(const Inference& in) const {
  require(in.shape(0).empty(), "LearningRate: expected a scalar of applied steps, got ",
          in.type(0));
  require(dtype == DType::f32 || dtype == DType::f64,
          "LearningRate: expected dtype f32 or f64, got ", dtype);
  check("LearningRate");
  return {{dtype, {}}};
}

namespace {

Offer learning_rate_reference(const Request& request) {
  const auto op = request.as<LearningRate>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    out[0].set(0, op.at(in[0].integer(0)));
  });
}

constexpr Kernel learning_rate_kernels[] = {{"reference", learning_rate_reference}};

}  // namespace

std::span<const Kernel> LearningRate::kernels() { return learning_rate_kernels; }

}  // namespace narrowgauge

NG_OPS(learning_rate, narrowgauge::LearningRate)
NG_NO_GRADIENT(learning_rate, "update of weights", narrowgauge::LearningRate)
