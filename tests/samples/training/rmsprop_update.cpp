// SPDX-License-Identifier: Apache-2.0
#include "ops/training/rmsprop_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RmspropUpdate>> rmsprop_update_samples() {
  std::vector<Sample<RmspropUpdate>> all;
  const SampleInput weight = sample("f32[3,7]"), gradient = sample("f32[3,7]", -100, 100);
  for (const bool applied : {true, false})
    for (const bool centered : {true, false})
      for (const double momentum : {0.0, 0.9})
        all.push_back({{.alpha = 0.9,
                        .epsilon = 1e-3,
                        .momentum = momentum,
                        .centered = centered,
                        .weight_decay = 0.1,
                        .maximize = centered,
                        .narrow = DType::bf16},
                       {weight, gradient, sample("f32[3,7]", 1, 2),
                        centered ? sample("f32[3,7]", -1, 1) : no_sample(),
                        momentum > 0 ? sample("f32[3,7]") : no_sample(), sample_number(0.01),
                        sample_number(0.01), sample_flag(applied)}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(rmsprop_update, rmsprop_update_samples())
