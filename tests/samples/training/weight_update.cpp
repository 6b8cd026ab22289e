// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<SgdUpdate>> sgd_update_samples() {
  std::vector<Sample<SgdUpdate>> all;
  for (const bool applied : {true, false}) {
    const SampleInput w = sample("f32[3,7]"), g = sample("f32[3,7]", -100, 100);
    all.push_back(
        {{}, {w, g, no_sample(), sample_number(0.1), sample_number(0.01), sample_flag(applied)}});
    all.push_back({{.momentum = 0.9, .weight_decay = 0.1},
                   {w, g, sample("f32[3,7]"), sample_number(0.1), sample_number(0.01),
                    sample_flag(applied)}});
    all.push_back({{.momentum = 0.9, .nesterov = true, .narrow = DType::bf16},
                   {w, g, sample("f32[3,7]"), sample_number(0.1), sample_number(0.01),
                    sample_flag(applied)}});
    for (const double steps : {0, 3})
      all.push_back({{.momentum = 0.9, .dampening = 0.3, .maximize = true},
                     {w, g, sample("f32[3,7]"), sample_number(0.1), sample_number(0.01),
                      sample_flag(applied), sample(Tensor::scalar(DType::i64, steps))}});
  }
  add_narrow_samples(all);
  return all;
}

std::vector<Sample<AdamUpdate>> adam_update_samples() {
  std::vector<Sample<AdamUpdate>> all;
  const SampleInput steps = sample(Tensor::scalar(DType::i64, 4));
  for (const bool applied : {true, false})
    for (const bool amsgrad : {true, false})
      all.push_back({{.epsilon = 1e-3,
                      .weight_decay = 0.1,
                      .amsgrad = amsgrad,
                      .maximize = amsgrad,
                      .decoupled = !amsgrad,
                      .narrow = DType::f16},
                     {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]"),
                      sample("f32[3,7]", 0, 1), amsgrad ? sample("f32[3,7]", 0, 1) : no_sample(),
                      sample_number(0.01), sample_number(0.01), sample_flag(applied), steps}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(weight_update, sgd_update_samples(), adam_update_samples())
