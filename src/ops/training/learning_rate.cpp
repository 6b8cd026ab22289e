// SPDX-License-Identifier: Apache-2.0
#include "ops/training/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

double LearningRate::at(std::int64_t applied_steps) const {
  if (applied_steps < warmup_steps)
    return base * static_cast<double>(applied_steps + 1) / static_cast<double>(warmup_steps);
  const std::int64_t t = applied_steps - warmup_steps;
  if (schedule == "step")
    return std::max(minimum, base * std::pow(step_factor, static_cast<double>(t / step_every)));
  if (schedule == "cosine") {
    const double whole = static_cast<double>(total_steps - warmup_steps);
    const double part = std::min(1.0, static_cast<double>(t) / whole);
    return minimum + (base - minimum) * 0.5 * (1 + std::cos(std::numbers::pi * part));
  }
  return base;
}

TensorTypes LearningRate::infer(const Inference& in) const {
  require(in.shape(0).empty(), "LearningRate: expected a scalar of applied steps, got ",
          in.type(0));
  require(schedule == "constant" || schedule == "step" || schedule == "cosine",
          "LearningRate: schedule must be constant, step or cosine, got '", schedule, "'");
  require(base >= 0 && minimum >= 0, "LearningRate: base and minimum must not be negative, got ",
          base, " and ", minimum);
  require(warmup_steps >= 0, "LearningRate: warmup_steps must not be negative, got ", warmup_steps);
  require(schedule != "step" || (step_every >= 1 && step_factor > 0),
          "LearningRate: a step schedule needs step_every of at least 1 and a positive "
          "step_factor, got ",
          step_every, " and ", step_factor);
  require(schedule != "cosine" || total_steps > warmup_steps,
          "LearningRate: a cosine schedule needs total_steps above warmup_steps ", warmup_steps,
          ", got ", total_steps);
  return {{DType::f32, {}}};
}

namespace {

Offer offer_learning_rate(const Request& request) {
  const auto op = request.as<LearningRate>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    out[0].set(0, op.at(in[0].integer(0)));
  });
}

constexpr Kernel kernel_list[] = {{"reference", offer_learning_rate}};

}  // namespace

std::span<const Kernel> LearningRate::kernels() { return kernel_list; }

std::vector<Sample<LearningRate>> LearningRate::samples() {
  LearningRate constant, steps, cosine;
  constant.warmup_steps = 5;
  steps.schedule = "step";
  steps.step_every = 20;
  cosine.schedule = "cosine";
  cosine.warmup_steps = 5;
  cosine.total_steps = 100;
  std::vector<Sample<LearningRate>> all;
  for (const double applied : {0, 3, 50, 1000})
    for (const LearningRate& op : {constant, steps, cosine})
      all.push_back({op, {sample(Tensor::scalar(DType::i64, applied))}});
  return all;
}

}  // namespace narrowgauge

NG_OPS(learning_rate, narrowgauge::LearningRate)
