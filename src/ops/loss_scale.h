// SPDX-License-Identifier: Apache-2.0
// What a training step does between its gradients and its weight updates, all in the graph: are the
// gradients finite and how large are they; is the step applied; the next loss scale; the number
// that unscales and clips gradients. No host read inside a step.
#pragma once

#include "narrowgauge/op.h"

namespace narrowgauge {

// One pass over all gradients, which carry the loss scale. `norm` is that of the true gradients,
// sqrt(sum(g * g)) / scale, and not finite when they are not; beyond f32, where nothing could clip
// it, it counts as not finite itself, but not without `bounds_norm`. `first_not_finite`: the index
// of the first gradient that holds an infinity or NaN; -1.
struct GradientHealth {
  static constexpr OpInfo info{.name = "GradientHealth",
                               .domain = "ng",
                               .inputs = "scale:f32, gradients*:any~",
                               .outputs = "finite:bool, norm?:f32, first_not_finite?:i64",
                               .stage = Stage::trained};
  bool bounds_norm = true;
  static void attributes(auto& self, auto&& visit) { visit("bounds_norm", self.bounds_norm); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
  static std::vector<Sample<GradientHealth>> samples();
};

// Why a step was applied or skipped.
enum class StepReason : std::int64_t {
  applied = 0,
  gradient_overflow = 1,   // in scaled gradients: a smaller scale may mend it
  loss_not_finite = 2,     // made in the forward pass: the scale has no part in it
  gradient_not_finite = 3  // at the smallest scale: nothing left to lower
};
NG_API std::string_view name(StepReason reason);

// Dynamic loss scaling. growth_interval good steps in a row multiply the scale by `growth`, up to
// `maximum`, unless that leaves the numbers whose inverse f32 has; an overflow of the gradients
// multiplies it by `backoff`, down to `minimum`, and starts the count again; a loss that is not
// finite changes neither. `dynamic` false: the scale stays. Steps are counted as applied or
// skipped.
struct LossScaleUpdate {
  static constexpr OpInfo info{
      .name = "LossScaleUpdate",
      .domain = "ng",
      .inputs =
          "scale:f32, good_steps:i64, applied_steps:i64, skipped_steps:i64, finite:bool, "
          "loss_finite:bool",
      .outputs =
          "next_scale:f32, next_good_steps:i64, next_applied_steps:i64, "
          "next_skipped_steps:i64, applied:bool, reason:i64",
      .stage = Stage::trained};
  bool dynamic = true;
  std::int64_t growth_interval = 2000;
  double growth = 2, backoff = 0.5, minimum = 1, maximum = 16777216;  // 2^24

  static void attributes(auto& self, auto&& visit) {
    visit("dynamic", self.dynamic);
    visit("growth_interval", self.growth_interval);
    visit("growth", self.growth);
    visit("backoff", self.backoff);
    visit("minimum", self.minimum);
    visit("maximum", self.maximum);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
  static std::vector<Sample<LossScaleUpdate>> samples();
};

// What scaled gradients are multiplied by: 1 / scale, times limit / norm where the norm of the true
// gradients is above the limit (0: no limit).
struct ClipMultiplier {
  static constexpr OpInfo info{.name = "ClipMultiplier",
                               .domain = "ng",
                               .inputs = "norm:f32, scale:f32",
                               .outputs = "multiplier:f32",
                               .stage = Stage::trained};
  double limit = 0;
  static void attributes(auto& self, auto&& visit) { visit("limit", self.limit); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
  static std::vector<Sample<ClipMultiplier>> samples();
};

}  // namespace narrowgauge
