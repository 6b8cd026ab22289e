// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/layer_normalization.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LayerNormalization>> layer_normalization_samples() {
  return {
      {{}, {sample("f32[4,3,10]"), sample("f32[10]"), sample("f32[10]")}},
      {{.axis = 1, .epsilon = 1e-3}, {sample("f32[2,3,4,5]", 5, 7), sample("f32[3,4,5]")}},
      {{.axis = -2}, {sample("f32[2,3,17]"), sample("f32[3,17]"), sample("f32[3,17]")}},
      {{}, {sample("f32[3,600]"), sample("f32[600]"), sample("f32[600]")}},
  };
}

std::vector<Sample<LayerNormalizationGradient>> layer_normalization_gradient_samples() {
  const auto mean = [](std::string_view type) { return sample(type, -0.5, 0.5); };
  const auto inverse_std = [](std::string_view type) { return sample(type, 0.5, 2); };
  return {
      {{},
       {sample("f32[4,3,10]"), sample("f32[4,3,10]"), sample("f32[10]"), mean("f32[4,3,1]"),
        inverse_std("f32[4,3,1]")}},
      {{1},
       {sample("f32[2,3,4,5]"), sample("f32[2,3,4,5]"), sample("f32[3,4,5]"), mean("f32[2,1,1,1]"),
        inverse_std("f32[2,1,1,1]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(layer_normalization, layer_normalization_samples(),
           layer_normalization_gradient_samples())
