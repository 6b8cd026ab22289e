// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/linear_attention.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LinearAttention>> linear_attention_samples() {
  const auto q = [] { return sample("f32[2,3,8]", -1, 1); };
  const auto k = [] { return sample("f32[2,3,4]", -1, 1); };
  const SampleInput v = sample("f32[2,3,6]"), state = sample("f32[2,2,2,3]");
  const SampleInput none = no_sample();
  return {
      {{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "linear"}, {q(), k(), v}},
      {{.kv_num_heads = 2, .q_num_heads = 4, .scale = 0.5, .update_rule = "gated"},
       {q(), k(), v, state, sample("f32[2,3,2]", -1, 0)}},
      {{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "delta"},
       {q(), k(), v, none, none, sample("f32[2,3,1]", 0, 1)}},
      {{.kv_num_heads = 2, .q_num_heads = 2},
       {k(), k(), v, state, sample("f32[2,3,4]", -1, 0), sample("f32[2,3,2]", 0, 1)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(linear_attention, linear_attention_samples())
