// SPDX-License-Identifier: Apache-2.0
#include "ops/training/loss_scale.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

SampleInput flag(bool value) { return sample(Tensor::scalar(DType::boolean, value)); }

SampleInput whole(std::int64_t value) {
  return sample(Tensor::scalar(DType::i64, static_cast<double>(value)));
}

SampleInput number(double value) { return sample(Tensor::scalar(DType::f32, value)); }

std::vector<Sample<GradientHealth>> gradient_health_samples() {
  return {{{}, {number(8), sample("f32[3,7]"), sample("f32[600]", -100, 100), sample("f32[]")}},
          {{}, {number(1), sample("f32[5]")}},
          {{.bounds_norm = false}, {number(1e-3), sample("f32[]", 1e36, 2e36)}},
          {{}, {number(1)}}};
}

std::vector<Sample<LossScaleUpdate>> loss_scale_update_samples() {
  std::vector<Sample<LossScaleUpdate>> all;
  for (const bool finite : {true, false})
    for (const bool loss_finite : {true, false})
      all.push_back(
          {{},
           {number(1024), whole(1999), whole(5000), whole(3), flag(finite), flag(loss_finite)}});
  for (const bool finite : {true, false})
    all.push_back({{.hysteresis = 3, .counts_loss = true},
                   {number(1024), whole(1999), whole(5000), whole(3), flag(finite), flag(!finite),
                    whole(2)}});
  return all;
}

std::vector<Sample<ClipMultiplier>> clip_multiplier_samples() {
  return {{{}, {number(3), number(4)}}, {{.limit = 1}, {number(3), number(4)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(loss_scale, gradient_health_samples(), loss_scale_update_samples(),
           clip_multiplier_samples())
