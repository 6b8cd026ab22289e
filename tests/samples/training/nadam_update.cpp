// SPDX-License-Identifier: Apache-2.0
#include "ops/training/nadam_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<NadamUpdate>> nadam_update_samples() {
  std::vector<Sample<NadamUpdate>> all;
  const SampleInput steps = sample(Tensor::scalar(DType::i64, 4));
  for (const bool applied : {true, false})
    for (const bool decoupled : {true, false})
      all.push_back({{.epsilon = 1e-3,
                      .weight_decay = 0.1,
                      .decoupled = decoupled,
                      .maximize = !decoupled,
                      .narrow = DType::f16},
                     {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]"),
                      sample("f32[3,7]", 0, 1), sample_number(0.01), sample_number(0.01),
                      sample_flag(applied), steps}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(nadam_update, nadam_update_samples())
