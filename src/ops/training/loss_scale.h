// SPDX-License-Identifier: Apache-2.0
// What a training step does in the graph between its gradients and its weight updates: whether the
// gradients are finite, and their norm; whether the step is applied; the next loss scale; the
// number that unscales and clips gradients. The host reads nothing during a step.
#pragma once

#include "narrowgauge/op_record.h"
#include "narrowgauge/step_outcome.h"

namespace narrowgauge {

// One pass over all gradients, which include the loss scale. `norm` is that of the true gradients,
// sqrt(sum(g * g)) / scale, and not finite if they are not. A norm beyond the range of its format,
// which nothing could clip, also counts as not finite, unless `bounds_norm` is false.
// `first_not_finite` is the index of the first gradient that holds an infinity or NaN, or -1.
struct GradientHealth {
  static constexpr OpInfo info{.name = "GradientHealth",
                               .domain = "ng",
                               .inputs = "scale:S, gradients*:any~",
                               .outputs = "finite:bool, norm?:S, first_not_finite?:i64",
                               .types = "S:wide",
                               .stage = Stage::trained};
  bool bounds_norm = true;
  static void attributes(auto& self, auto&& visit) { visit("bounds_norm", self.bounds_norm); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// Dynamic loss scaling. growth_interval good steps in a row multiply the scale by `growth`, up to
// `maximum`, unless f32 cannot hold the result's inverse. An overflow of the gradients multiplies
// it by `backoff`, down to `minimum`, and restarts the count. A loss that is not finite changes
// neither, unless `counts_loss` makes it an overflow, as in PyTorch. If `dynamic` is false the
// scale stays. Steps are counted as applied or skipped.
//
// With a `hysteresis` above 1, as in Megatron-LM, so many overflows are needed for the first
// backoff, and each one after that backs off too. overflows_left counts them down to 0;
// growth_interval good steps in a row set it to `hysteresis` again.
struct LossScaleUpdate {
  static constexpr OpInfo info{
      .name = "LossScaleUpdate",
      .domain = "ng",
      .inputs =
          "scale:S, good_steps:i64, applied_steps:i64, skipped_steps:i64, finite:bool, "
          "loss_finite:bool, overflows_left?:i64",
      .outputs =
          "next_scale:S, next_good_steps:i64, next_applied_steps:i64, "
          "next_skipped_steps:i64, applied:bool, outcome:i64, next_overflows_left?:i64",
      .types = "S:wide",
      .stage = Stage::trained};
  bool dynamic = true;
  std::int64_t growth_interval = 2000;
  double growth = 2, backoff = 0.5, minimum = 1, maximum = 16777216;  // 2^24
  std::int64_t hysteresis = 1;
  bool counts_loss = false;

  static void attributes(auto& self, auto&& visit) {
    visit("dynamic", self.dynamic);
    visit("growth_interval", self.growth_interval);
    visit("growth", self.growth);
    visit("backoff", self.backoff);
    visit("minimum", self.minimum);
    visit("maximum", self.maximum);
    visit("hysteresis", self.hysteresis);
    visit("counts_loss", self.counts_loss);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// The factor for scaled gradients: 1 / scale, times limit / (norm + 1e-6), for the norm of the true
// gradients, if that is below 1 (limit 0: never). PyTorch's clip_grad_norm_ has the same 1e-6.
struct ClipMultiplier {
  static constexpr OpInfo info{.name = "ClipMultiplier",
                               .domain = "ng",
                               .inputs = "norm:S, scale:S",
                               .outputs = "multiplier:S",
                               .types = "S:wide",
                               .stage = Stage::trained};
  double limit = 0;
  static void attributes(auto& self, auto&& visit) { visit("limit", self.limit); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
