// SPDX-License-Identifier: Apache-2.0
#include "ops/training/radam_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RadamUpdate>> radam_update_samples() {
  std::vector<Sample<RadamUpdate>> all;
  for (const bool applied : {true, false})
    for (const std::int64_t steps : {2, 20})  // before and after the rate adapts
      for (const bool decoupled : {true, false})
        all.push_back({{.epsilon = 1e-3,
                        .weight_decay = 0.1,
                        .decoupled = decoupled,
                        .maximize = !decoupled,
                        .narrow = DType::f16},
                       {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]"),
                        sample("f32[3,7]", 0, 1), sample_number(0.01), sample_number(0.01),
                        sample_flag(applied),
                        sample(Tensor::scalar(DType::i64, static_cast<double>(steps)))}});
  add_narrow_samples(all);
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(radam_update, radam_update_samples())
