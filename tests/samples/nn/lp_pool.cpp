// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/lp_pool.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<GlobalMaxPool>> global_max_pool_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}}, {{}, {sample("f32[3,2,7]")}}};
}

std::vector<Sample<LpPool>> lp_pool_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {sample("f32[2,3,4,6]", 0.5, 2)}},
      {{.kernel_shape = {3, 2}, .p = 3, .pads = {1, 0, 1, 1}, .strides = {2, 1}},
       {sample("f32[2,3,5,4]", -2, -0.5)}},
      {{.ceil_mode = 1, .kernel_shape = {3, 3}, .p = 1, .strides = {2, 2}},
       {sample("f32[1,2,6,4]")}},
      {{.auto_pad = "SAME_LOWER", .dilations = {2}, .kernel_shape = {3}, .p = 4},
       {sample("f32[2,3,8]", 0.5, 2)}},
  };
}

std::vector<Sample<LRN>> lrn_samples() {
  return {
      {{.alpha = 0.5, .size = 3}, {sample("f32[2,5,3,2]")}},
      {{.alpha = 0.25, .beta = 0.5, .bias = 2, .size = 4}, {sample("f32[2,3,7]")}},
      {{.size = 1}, {sample("f32[2,3,2,2,3]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(lp_pool, global_max_pool_samples(), lp_pool_samples(), lrn_samples())
