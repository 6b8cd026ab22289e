// SPDX-License-Identifier: Apache-2.0
// Loss scaling as PyTorch's torch.amp.GradScaler does it, for loops that are ported from there:
//
//   GradScaler scaler;
//   scaler.backward(discriminator, batch);  // scaler.scale(loss).backward()
//   scaler.unscale(discriminator);          // where gradients are clipped or looked at
//   scaler.step(discriminator);
//   scaler.update();
//
// A Step has loss scaling of its own (Optimizer::loss_scale), which reads nothing back to the host.
// Where that was left `automatic`, a Step leaves it to the scaler from their first backward() on;
// one that was told to have a loss scale is refused with UsageError.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "narrowgauge/step.h"

namespace narrowgauge {

// The numbers of PyTorch's constructor.
struct GradScalerOptions {
  double initial = 65536;               // the scale at the start
  double growth = 2;                    // the factor after growth_interval updates without overflow
  double backoff = 0.5;                 // the factor after an overflow in any step
  std::int64_t growth_interval = 2000;  // updates in a row
  bool enabled = true;                  // false: every call passes through
};

// What is kept to go on later (state_dict).
struct GradScalerState {
  double scale = 65536;                 // the next one
  double growth = 2, backoff = 0.5;     // as in GradScalerOptions
  std::int64_t growth_interval = 2000;  // as in GradScalerOptions
  std::int64_t growth_tracker = 0;      // updates without overflow since the scale changed
  bool operator==(const GradScalerState&) const = default;
};

// As in PyTorch one overflow in any step lowers the scale that all share, without end; below
// 2^-126, where f32 has no normal numbers, no step is applied here. A value: copies go on apart.
// Belongs to one thread at a time.
class NG_API GradScaler {
 public:
  // Throws UsageError for a growth of 1 or less, a backoff of 1 or more, or an interval below 1.
  explicit GradScaler(const GradScalerOptions& options = {});

  double scale() const;                                                  // 1 where it is disabled
  std::int64_t growth_tracker() const { return state_.growth_tracker; }  // updates since a change
  // Adds the scaled gradients, and returns the loss.
  double backward(Step& step, std::span<const Tensor> batch, double weight = 1) const;
  // Throws UsageError where it, or step(), was called since the last update().
  void unscale(Step& step);
  // Unscales where that was not done, and updates unless a gradient is infinite or NaN; whether it
  // did. Throws UsageError for a second call before update().
  bool step(Step& step);
  // The next scale, or a given one. Throws UsageError where no step was unscaled.
  void update(std::optional<double> scale = {});

  GradScalerState state() const { return state_; }  // to go on from later
  void set_state(const GradScalerState& state);     // throws as the constructor does
  void set_growth_interval(std::int64_t interval);  // throws UsageError for one below 1

 private:
  enum class Stage : std::uint8_t { unscaled, stepped };
  struct Progress {
    Stage stage = Stage::unscaled;
    bool finite = true;
  };
  GradScalerState state_;
  bool enabled_;
  // The progress of each step since the last update. A step is known by what it holds, wherever it
  // is moved to.
  std::map<std::weak_ptr<const void>, Progress, std::owner_less<>> steps_;
};

}  // namespace narrowgauge
