// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lars_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LarsUpdate>> lars_update_samples() {
  std::vector<Sample<LarsUpdate>> all;
  const SampleInput w = sample("f32[3,7]"), g = sample("f32[3,7]", -100, 100);
  for (const bool applied : {true, false}) {
    const auto inputs = [&](const SampleInput& velocity, SampleInput steps) {
      return std::vector<SampleInput>{w,
                                      g,
                                      velocity,
                                      sample_number(0.1),
                                      sample_number(0.01),
                                      sample_flag(applied),
                                      std::move(steps)};
    };
    all.push_back({{.weight_decay = 0.1, .trust_clip = true}, inputs(no_sample(), no_sample())});
    all.push_back({{.momentum = 0.9, .nesterov = true, .always_adapt = true, .narrow = DType::bf16},
                   inputs(sample("f32[3,7]"), no_sample())});
    all.push_back({{.momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1},
                   inputs(sample("f32[3,7]"), sample(Tensor::scalar(DType::i64, 3)))});
  }
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(lars_update, lars_update_samples())
