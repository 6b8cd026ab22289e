// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/average_pool.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<AveragePool>> average_pool_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {sample("f32[2,3,4,6]")}},
      {{.kernel_shape = {3, 2}, .pads = {1, 0, 1, 1}, .strides = {2, 1}},
       {sample("f32[2,17,5,4]")}},
      {{.count_include_pad = 1, .kernel_shape = {3, 2}, .pads = {1, 0, 1, 1}, .strides = {2, 1}},
       {sample("f32[2,5,5,4]")}},
      {{.ceil_mode = 1,
        .count_include_pad = 1,
        .kernel_shape = {3, 3},
        .pads = {1, 1, 1, 1},
        .strides = {2, 2}},
       {sample("f32[1,2,6,4]")}},
      {{.ceil_mode = 1, .kernel_shape = {3, 3}, .strides = {2, 2}}, {sample("f32[1,2,6,4]")}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {3}, .strides = {2}}, {sample("f32[2,3,8]")}},
      {{.dilations = {2, 1, 1}, .kernel_shape = {2, 2, 1}}, {sample("f32[1,2,4,3,2]")}},
  };
}

std::vector<Sample<AveragePoolGradient>> average_pool_gradient_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}, .shape = {2, 3, 5, 6}},
       {sample("f32[2,3,2,3]")}},
      {{.count_include_pad = 1,
        .kernel_shape = {3, 2},
        .pads = {1, 0, 1, 1},
        .strides = {2, 1},
        .shape = {2, 17, 5, 4}},
       {sample("f32[2,17,3,4]")}},
      {{.ceil_mode = 1, .kernel_shape = {3, 3}, .strides = {2, 2}, .shape = {1, 2, 6, 4}},
       {sample("f32[1,2,3,2]")}},
  };
}

std::vector<Sample<GlobalAveragePool>> global_average_pool_samples() {
  return {{{}, {sample("f32[2,17,3,4]")}},
          {{}, {sample("f32[2,3,9]")}},
          {{}, {sample("f32[1,2,2,3,2]")}}};
}

std::vector<Sample<GlobalAveragePoolGradient>> global_average_pool_gradient_samples() {
  return {{{Shape{2, 17, 3, 4}}, {sample("f32[2,17,1,1]")}},
          {{Shape{2, 3, 9}}, {sample("f32[2,3,1]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(average_pool, average_pool_samples(), average_pool_gradient_samples(),
           global_average_pool_samples(), global_average_pool_gradient_samples())
