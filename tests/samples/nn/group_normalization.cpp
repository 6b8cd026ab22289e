// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/group_normalization.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<GroupNormalization>> group_normalization_samples() {
  return {
      {{.num_groups = 2}, {sample("f32[2,6,3,5]"), sample("f32[6]"), sample("f32[6]")}},
      {{.epsilon = 0.1, .num_groups = 3},
       {sample("f32[3,3,4]"), sample("f32[3]"), sample("f32[3]")}},
      {{}, {sample("f32[1,2,3,2,2]", 5, 7), sample("f32[2]"), sample("f32[2]")}},
  };
}

std::vector<Sample<InstanceNormalization>> instance_normalization_samples() {
  return {
      {{}, {sample("f32[2,3,4,5]"), sample("f32[3]"), sample("f32[3]")}},
      {{.epsilon = 1e-2}, {sample("f32[3,2,7]", 5, 7), sample("f32[2]"), sample("f32[2]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(group_normalization, group_normalization_samples(), instance_normalization_samples())
