// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/hardmax.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Hardmax>> hardmax_samples() {
  return {{{}, {sample("f32[3,5]")}},
          {{.axis = 1}, {sample("f32[2,3,4,5]")}},
          {{.axis = 0}, {sample(Tensor::from<float>({4}, std::vector<float>{1, 3, 3, 0}))}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(hardmax, hardmax_samples())
