// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/grad_scaler.h"

#include <cmath>

namespace narrowgauge {

namespace {

// PyTorch keeps the scale as f32.
double as_f32(double scale) { return static_cast<float>(scale); }

void check_grad_scaler(const GradScalerState& state) {
  require(state.scale > 0 && std::isfinite(as_f32(state.scale)) && as_f32(state.scale) > 0,
          "grad scaler: expected a finite scale above 0, got ", state.scale);
  require(state.growth > 1 && std::isfinite(state.growth),
          "grad scaler: expected a finite growth above 1, got ", state.growth);
  require(state.backoff > 0 && state.backoff < 1,
          "grad scaler: expected a backoff between 0 and 1, got ", state.backoff);
  require(state.growth_interval >= 1, "grad scaler: expected a growth_interval of 1 or more, got ",
          state.growth_interval);
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : state_{options.initial, options.growth, options.backoff, options.growth_interval, 0},
      enabled_(options.enabled) {
  check_grad_scaler(state_);
}

void GradScaler::set_state(const GradScalerState& state) {
  check_grad_scaler(state);
  state_ = state;
}

void GradScaler::set_growth_interval(std::int64_t interval) {
  GradScalerState changed = state_;
  changed.growth_interval = interval;
  set_state(changed);
}

double GradScaler::scale() const { return enabled_ ? as_f32(state_.scale) : 1; }

double GradScaler::backward(Step& step, std::span<const Tensor> batch, double weight) const {
  if (enabled_) step.leave_scale_to_scaler();
  return step.backward(batch, weight * scale());
}

void GradScaler::unscale(Step& step) {
  if (!enabled_) return;
  require(!steps_.contains(step.implementation_.pointer()),
          "grad scaler: the gradients of this step were unscaled, or it was taken, since the last "
          "update()");
  step.leave_scale_to_scaler();
  const auto place = steps_.try_emplace(step.implementation_.pointer()).first;
  try {
    place->second = {Stage::unscaled, step.scale_gradients(1 / scale())};
  } catch (...) {
    steps_.erase(place);
    throw;
  }
}

bool GradScaler::step(Step& step) {
  if (!enabled_) return step.update_whatever_the_loss(false).applied();
  if (!steps_.contains(step.implementation_.pointer())) unscale(step);
  Progress& progress = steps_[step.implementation_.pointer()];
  require(progress.stage == Stage::unscaled,
          "grad scaler: this step was taken already since the last update()");
  bool applied = false;
  if (progress.finite)
    applied = step.update_whatever_the_loss(true).applied();
  else
    step.clear_gradients();
  progress.stage = Stage::stepped;
  return applied;
}

void GradScaler::update(std::optional<double> scale) {
  if (!enabled_) return;
  if (scale) {
    GradScalerState changed = state_;
    changed.scale = *scale;
    set_state(changed);
    steps_.clear();
    return;
  }
  require(!steps_.empty(), "grad scaler: update() without a step that was unscaled or taken");
  bool finite = true;
  for (const auto& [step, progress] : steps_) finite = finite && progress.finite;
  steps_.clear();
  if (!finite) {
    state_.scale = as_f32(as_f32(state_.scale) * state_.backoff);
    state_.growth_tracker = 0;
  } else if (++state_.growth_tracker == state_.growth_interval) {
    const double grown = as_f32(as_f32(state_.scale) * state_.growth);
    if (std::isfinite(grown)) state_.scale = grown;
    state_.growth_tracker = 0;
  }
}

}  // namespace narrowgauge
