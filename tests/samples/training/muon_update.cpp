// SPDX-License-Identifier: Apache-2.0
#include "ops/training/muon_update.h"

#include "samples/samples.h"
#include "samples/training/update_rule.h"

namespace narrowgauge {

namespace {

std::vector<Sample<MuonUpdate>> muon_update_samples() {
  std::vector<Sample<MuonUpdate>> all;
  const SampleInput steps = sample(Tensor::scalar(DType::i64, 4));
  for (const bool is_applied : {true, false})
    for (const char* shape : {"f32[3,7]", "f32[7,3]", "f32[5]", "f32[2,3,2]"}) {
      const SampleInput w = sample(shape);
      const bool matrix = w.type.shape.size() == 2;
      all.push_back({{.nesterov = is_applied, .weight_decay = 0.1, .original_rate = !is_applied},
                     {w, sample(shape, -100, 100), w, matrix ? no_sample() : sample(shape, 0, 1),
                      sample_number(0.01), sample_number(0.01), sample_flag(is_applied), steps}});
    }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(muon_update, muon_update_samples())
