// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/random_key.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RandomKey>> random_key_samples() { return {{{}, {}}, {{.seed = 7}, {}}}; }

std::vector<Sample<KeptElements>> kept_elements_samples() {
  return {{{.shape = {3, 5}, .keep = 0.75},
           {sample(Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{11, 2}))}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(random_key, random_key_samples(), kept_elements_samples())
