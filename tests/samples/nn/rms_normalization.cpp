// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/rms_normalization.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RMSNormalization>> rms_normalization_samples() {
  return {
      {{}, {sample("f32[4,3,10]"), sample("f32[10]")}},
      {{.axis = 1, .epsilon = 1e-2}, {sample("f32[2,3,4,5]"), sample("f32[3,1,5]")}},
      {{.axis = -2}, {sample("f32[2,3,17]"), sample("f32[1]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(rms_normalization, rms_normalization_samples())
