// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lion_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LionUpdate>> lion_update_samples() {
  std::vector<Sample<LionUpdate>> all;
  for (const bool applied : {true, false})
    for (const bool maximize : {true, false})
      all.push_back({{.weight_decay = 0.1, .maximize = maximize, .narrow = DType::bf16},
                     {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]"),
                      sample_number(0.01), sample_number(0.01), sample_flag(applied)}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(lion_update, lion_update_samples())
