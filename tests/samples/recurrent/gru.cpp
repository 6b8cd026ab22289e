// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/gru.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<GRU>> gru_samples() {
  const SampleInput lengths = sample(Tensor::from<std::int32_t>({2}, {1, 3}));
  return {
      {{}, {sample("f32[3,2,4]"), sample("f32[1,15,4]", -1, 1), sample("f32[1,15,5]", -1, 1)}},
      {{.direction = "bidirectional", .linear_before_reset = 1},
       {sample("f32[3,2,2]"), sample("f32[2,9,2]", -1, 1), sample("f32[2,9,3]", -1, 1),
        sample("f32[2,18]"), lengths, sample("f32[2,2,3]")}},
      {{.activations = "HardSigmoid,Softsign", .direction = "reverse", .layout = 1},
       {sample("f32[2,4,2]"), sample("f32[1,9,2]", -1, 1), sample("f32[1,9,3]", -1, 1),
        sample("f32[1,18]", -0.5, 0.5), no_sample(), sample("f32[2,1,3]")}},
      {{.activations = "Sigmoid,Elu,Tanh,LeakyRelu",
        .clip = 1.5,
        .direction = "bidirectional",
        .layout = 1},
       {sample("f32[2,3,2]"), sample("f32[2,9,2]", -1, 1), sample("f32[2,9,3]", -1, 1),
        sample("f32[2,18]"), lengths, sample("f32[2,2,3]")}},
      {{.linear_before_reset = 1},
       {sample("f32[2,2,3]"), sample("f32[1,6,3]", -1, 1), sample("f32[1,6,2]", -1, 1)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(gru, gru_samples())
