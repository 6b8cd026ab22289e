// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv_transpose.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ConvTranspose>> conv_transpose_samples() {
  return {
      {{}, {sample("f32[2,3,3,4]"), sample("f32[3,2,3,2]"), sample("f32[2]")}},
      {{.dilations = {2, 1}, .group = 2, .pads = {1, 0, 2, 1}, .strides = {2, 3}},
       {sample("f32[1,4,3,2]"), sample("f32[4,3,3,3]"), sample("f32[6]")}},
      {{.output_padding = {1}, .strides = {2}}, {sample("f32[2,2,5]"), sample("f32[2,1,3]")}},
      {{.output_shape = {10, 8}, .strides = {3, 2}},
       {sample("f32[1,1,3,3]"), sample("f32[1,2,3,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {2, 2}},
       {sample("f32[1,2,3,3]"), sample("f32[2,2,3,3]")}},
      {{.auto_pad = "SAME_LOWER", .strides = {2}}, {sample("f32[2,2,3]"), sample("f32[2,2,3]")}},
      {{.dilations = {3}, .output_padding = {2}}, {sample("f32[2,2,3]"), sample("f32[2,2,2]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(conv_transpose, conv_transpose_samples())
