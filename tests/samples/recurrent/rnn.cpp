// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/rnn.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RNN>> rnn_samples() {
  const SampleInput lengths = sample(Tensor::from<std::int32_t>({2}, {3, 1}));
  const Tensor numbers = Tensor::from<float>({2}, std::vector<float>{0.5F, 0.25F});
  std::vector<Sample<RNN>> all{
      {{}, {sample("f32[3,2,4]"), sample("f32[1,5,4]", -1, 1), sample("f32[1,5,5]", -1, 1)}},
      {{.clip = 1.5, .direction = "bidirectional"},
       {sample("f32[3,2,2]"), sample("f32[2,3,2]", -1, 1), sample("f32[2,3,3]", -1, 1),
        sample("f32[2,6]"), lengths, sample("f32[2,2,3]")}},
      {{.activation_alpha = numbers,
        .activation_beta = numbers,
        .activations = "ScaledTanh",
        .direction = "reverse",
        .hidden_size = 3,
        .layout = 1},
       {sample("f32[2,4,2]"), sample("f32[1,3,2]", -1, 1), sample("f32[1,3,3]", -1, 1),
        sample("f32[1,6]"), no_sample(), sample("f32[2,1,3]")}},
  };
  for (const char* const activations :
       {"Relu,LeakyRelu", "Affine,ThresholdedRelu", "HardSigmoid,Elu", "Softplus,Sigmoid"})
    all.push_back({{.activations = activations, .direction = "bidirectional"},
                   {sample("f32[3,2,2]"), sample("f32[2,3,2]", -1, 1), sample("f32[2,3,3]", -1, 1),
                    sample("f32[2,6]")}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(rnn, rnn_samples())
