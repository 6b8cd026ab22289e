// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/attention.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

SampleInput key_sample() {
  return sample(Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{1234567, 5}));
}

std::vector<Sample<Attention>> attention_samples() {
  return {
      {{.q_num_heads = 2}, {sample("f32[2,3,8]"), sample("f32[2,5,8]"), sample("f32[2,5,8]")}},
      {{.q_num_heads = 2, .dropout = 0.25},
       {sample("f32[2,5,6]"), sample("f32[2,5,6]"), sample("f32[2,5,6]"),
        sample("f32[2,1,1,5]", -3, 3), key_sample()}},
      {{.q_num_heads = 1, .scale = 0.4, .is_causal = 1},
       {sample("f32[1,6,5]"), sample("f32[1,4,5]"), sample("f32[1,4,5]"), sample("f32[6,1]")}},
      {{.q_num_heads = 1, .is_causal = 1, .dropout = 0.5},
       {sample("f32[1,7,2]"), sample("f32[1,7,2]"), sample("f32[1,7,2]"), no_sample(),
        key_sample()}},
  };
}

std::vector<Sample<AttentionGradient>> attention_gradient_samples() {
  return {
      {{.q_num_heads = 2},
       {sample("f32[2,3,8]"), sample("f32[2,3,8]"), sample("f32[2,5,8]"), sample("f32[2,5,8]"),
        sample("f32[2,2,3]", 1, 3)}},
      {{.q_num_heads = 2, .dropout = 0.25},
       {sample("f32[2,5,6]"), sample("f32[2,5,6]"), sample("f32[2,5,6]"), sample("f32[2,5,6]"),
        sample("f32[2,2,5]", 1, 3), sample("f32[2,1,1,5]", -3, 3), key_sample()}},
      {{.q_num_heads = 1, .scale = 0.4, .is_causal = 1},
       {sample("f32[1,5,2]"), sample("f32[1,5,2]"), sample("f32[1,6,2]"), sample("f32[1,6,2]"),
        sample("f32[1,1,5]", 3, 5)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(attention, attention_samples(), attention_gradient_samples())
