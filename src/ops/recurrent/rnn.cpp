// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/rnn.h"

#include "ops/control/composite.h"
#include "ops/math/matmul.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes RNN::infer(const Inference& in) const {
  return recurrent_types(recurrent_attributes(*this), in);
}

Values RNN::decompose(Rewriting& r) const {
  const auto weights = [&](std::int64_t d) {
    RecurrentDirection parts{{}, {recurrent_row(r, 2, d)}};
    if (r.has_input(3)) {
      const auto biases = split_last(r, recurrent_row(r, 3, d), 2);
      parts.biases = {biases[0], biases[1]};
    }
    return parts;
  };
  const auto cell = [](const RecurrentStep& step) -> std::vector<Expression> {
    const Expression h = step.states[0].apply(FusedMatMul{false, true}, step.weights[0]);
    return {step.activate(0, step.gates + h)};
  };
  return run_recurrence(r, recurrent_attributes(*this), weights, cell);
}

std::span<const Kernel> RNN::kernels() { return composite_kernels(); }

std::vector<Sample<RNN>> RNN::samples() {
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

}  // namespace narrowgauge

NG_OPS(rnn, narrowgauge::RNN)
