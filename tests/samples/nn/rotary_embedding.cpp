// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/rotary_embedding.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RotaryEmbedding>> rotary_embedding_samples() {
  const SampleInput positions =
      sample(Tensor::from<std::int64_t>({2, 3}, std::vector<std::int64_t>{0, 4, 2, 1, 1, 3}));
  return {
      {{}, {sample("f32[2,3,4,6]"), sample("f32[2,4,3]"), sample("f32[2,4,3]")}},
      {{.num_heads = 2}, {sample("f32[2,3,8]"), sample("f32[5,2]"), sample("f32[5,2]"), positions}},
      {{.interleaved = 1, .rotary_embedding_dim = 4},
       {sample("f32[2,2,3,7]"), sample("f32[5,2]"), sample("f32[5,2]"), positions}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(rotary_embedding, rotary_embedding_samples())
