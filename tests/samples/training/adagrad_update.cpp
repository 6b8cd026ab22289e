// SPDX-License-Identifier: Apache-2.0
#include "ops/training/adagrad_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<AdagradUpdate>> adagrad_update_samples() {
  std::vector<Sample<AdagradUpdate>> all;
  const SampleInput steps = sample(Tensor::scalar(DType::i64, 4));
  for (const bool applied : {true, false})
    for (const bool maximize : {true, false})
      all.push_back({{.rate_decay = 0.1,
                      .initial_sum = 0.5,
                      .epsilon = 1e-3,
                      .weight_decay = 0.1,
                      .maximize = maximize,
                      .narrow = DType::bf16},
                     {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]", 0, 1),
                      sample_number(0.01), sample_number(0.01), sample_flag(applied), steps}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(adagrad_update, adagrad_update_samples())
