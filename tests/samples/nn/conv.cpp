// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Conv>> conv_samples() {
  return {
      {{}, {sample("f32[2,3,5,6]"), sample("f32[4,3,3,2]"), sample("f32[4]")}},
      {{.pads = {1, 1, 1, 1}}, {sample("f32[2,3,4,4]"), sample("f32[5,3,3,3]")}},
      {{.pads = {0, 1, 2, 1}, .strides = {2, 1}},
       {sample("f32[1,2,5,4]"), sample("f32[3,2,3,3]"), sample("f32[3]")}},
      {{.dilations = {2, 1}, .group = 2}, {sample("f32[2,4,6,3]"), sample("f32[6,2,3,2]")}},
      {{.group = 3, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
       {sample("f32[1,3,5,5]"), sample("f32[3,1,3,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {2, 2}},
       {sample("f32[1,2,5,6]"), sample("f32[3,2,3,2]")}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}},
       {sample("f32[2,2,5]"), sample("f32[2,2,2]")}},
      {{.auto_pad = "VALID", .strides = {1, 2, 1}},
       {sample("f32[1,2,3,4,3]"), sample("f32[2,2,2,2,2]"), sample("f32[2]")}},
      {{}, {sample("f32[3,17,1,1]"), sample("f32[9,17,1,1]"), sample("f32[9]")}},
      {{}, {sample("f32[0,2,3,3]"), sample("f32[2,2,2,2]"), sample("f32[2]")}},
  };
}

std::vector<Sample<ConvDataGradient>> conv_data_gradient_samples() {
  return {
      {{.pads = {1, 1, 1, 1}, .shape = {2, 3, 4, 5}},
       {sample("f32[2,4,4,5]"), sample("f32[4,3,3,3]")}},
      // No window sees the last column of x.
      {{.strides = {2, 2}, .shape = {1, 2, 5, 6}},
       {sample("f32[1,3,2,2]"), sample("f32[3,2,3,3]")}},
      {{.dilations = {2}, .group = 2, .shape = {2, 4, 7}},
       {sample("f32[2,2,3]"), sample("f32[2,2,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {1, 2, 1}, .shape = {1, 2, 3, 3, 2}},
       {sample("f32[1,2,3,2,2]"), sample("f32[2,2,2,2,2]")}},
  };
}

std::vector<Sample<ConvWeightGradient>> conv_weight_gradient_samples() {
  return {
      {{.pads = {1, 1, 1, 1}, .shape = {4, 3, 3, 3}},
       {sample("f32[2,3,4,5]"), sample("f32[2,4,4,5]")}},
      {{.strides = {2, 2}, .shape = {3, 2, 3, 3}},
       {sample("f32[1,2,5,6]"), sample("f32[1,3,2,2]")}},
      {{.dilations = {2}, .group = 2, .shape = {2, 2, 3}},
       {sample("f32[2,4,7]"), sample("f32[2,2,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {1, 2, 1}, .shape = {2, 2, 2, 2, 2}},
       {sample("f32[1,2,3,3,2]"), sample("f32[1,2,3,2,2]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(conv, conv_samples(), conv_data_gradient_samples(), conv_weight_gradient_samples())
