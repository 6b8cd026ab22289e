// SPDX-License-Identifier: Apache-2.0
#include "ops/training/round_weight.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RoundWeight>> round_weight_samples() {
  std::vector<Sample<RoundWeight>> all;
  const SampleInput weight = sample_bf16(sample("f32[3,7]"));
  for (const bool applied : {true, false})
    for (const bool compensated : {true, false})
      for (const bool random : {true, false}) {
        if (compensated && random) continue;
        all.push_back({{},
                       {weight, sample(Tensor(DType::f32, {3, 7})), sample_flag(applied),
                        compensated ? sample_lost(weight) : no_sample(),
                        random ? sample_key() : no_sample()}});
        Tensor& exact = *all.back().inputs[1].constant;
        for (std::int64_t i = 0; i < exact.size(); ++i)
          exact.set(i, 1.0001 * weight.constant->at(i) + 1e-4);
      }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(round_weight, round_weight_samples())
