// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/lp_normalization.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LpNormalization>> lp_normalization_samples() {
  return {{{}, {sample("f32[3,5]", 0.5, 2)}},
          {{.axis = 1, .p = 1}, {sample("f32[2,3,4,5]", 0.5, 2)}},
          {{.axis = 0}, {sample("f32[7]", -2, -0.5)}},
          {{.p = 1}, {sample(Tensor(DType::f32, {2, 3}))}}};
}

std::vector<Sample<MeanVarianceNormalization>> mean_variance_normalization_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}},
          {{.axes = {-1}}, {sample("f32[3,7]")}},
          {{.axes = {0, 1}}, {sample("f32[4,3,2]", 3, 5)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(lp_normalization, lp_normalization_samples(), mean_variance_normalization_samples())
