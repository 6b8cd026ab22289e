// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/lstm.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LSTM>> lstm_samples() {
  const SampleInput lengths = sample(Tensor::from<std::int32_t>({2}, {3, 2}));
  return {
      {{}, {sample("f32[3,2,4]"), sample("f32[1,20,4]", -1, 1), sample("f32[1,20,5]", -1, 1)}},
      {{.clip = 2, .direction = "bidirectional"},
       {sample("f32[3,2,2]"), sample("f32[2,12,2]", -1, 1), sample("f32[2,12,3]", -1, 1),
        sample("f32[2,24]"), lengths, sample("f32[2,2,3]"), sample("f32[2,2,3]"),
        sample("f32[2,9]")}},
      {{.activations = "Sigmoid,Softsign,Tanh",
        .direction = "reverse",
        .input_forget = 1,
        .layout = 1},
       {sample("f32[2,4,2]"), sample("f32[1,12,2]", -1, 1), sample("f32[1,12,3]", -1, 1),
        sample("f32[1,24]"), no_sample(), sample("f32[2,1,3]")}},
      {{.activations = "Tanh,Softsign,Elu,HardSigmoid,Affine,ScaledTanh",
        .clip = 3,
        .direction = "bidirectional",
        .layout = 1},
       {sample("f32[2,3,2]"), sample("f32[2,12,2]", -1, 1), sample("f32[2,12,3]", -1, 1),
        no_sample(), lengths, no_sample(), sample("f32[2,2,3]")}},
      {{.input_forget = 1},
       {sample("f32[2,2,3]"), sample("f32[1,8,3]", -1, 1), sample("f32[1,8,2]", -1, 1), no_sample(),
        no_sample(), no_sample(), no_sample(), sample("f32[1,6]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(lstm, lstm_samples())
