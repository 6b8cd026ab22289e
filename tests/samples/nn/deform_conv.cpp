// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/deform_conv.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<DeformConv>> deform_conv_samples() {
  const auto offset = [](std::string_view type) { return sample(type, -0.9, 0.9); };
  return {
      {{},
       {sample("f32[2,2,3,4]"), sample("f32[3,2,2,2]"), offset("f32[2,8,2,3]"), sample("f32[3]")}},
      {{.dilations = {2, 1},
        .group = 2,
        .offset_group = 2,
        .pads = {1, 0, 1, 1},
        .strides = {1, 2}},
       {sample("f32[2,4,3,4]"), sample("f32[2,2,2,3]"), offset("f32[2,24,3,2]"), no_sample(),
        sample("f32[2,12,3,2]")}},
      {{.kernel_shape = {2}}, {sample("f32[2,1,5]"), sample("f32[1,1,2]"), offset("f32[2,2,4]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(deform_conv, deform_conv_samples())
