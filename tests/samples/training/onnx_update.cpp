// SPDX-License-Identifier: Apache-2.0
#include "ops/training/onnx_update.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

// The values of one tensor of this type, and another of 3 elements.
std::vector<SampleInput> two_tensors(int moments, double count) {
  std::vector<SampleInput> inputs{sample(Tensor::scalar(DType::f32, 0.1)),
                                  sample(Tensor::scalar(DType::i64, count))};
  for (int kind = 0; kind < 2 + moments; ++kind)
    for (const char* const type : {"f32[2,3,4,5]", "f32[3]"})
      inputs.push_back(kind < 2 ? sample(type) : sample(type, 0, 2));
  return inputs;
}

std::vector<Sample<Adam>> adam_samples() {
  return {{{}, two_tensors(2, 0)},
          {{.alpha = 0.75,
            .beta = 0.5,
            .epsilon = 0.01,
            .norm_coefficient = 0.1,
            .norm_coefficient_post = 0.2},
           two_tensors(2, 3)}};
}

std::vector<Sample<Momentum>> momentum_samples() {
  Momentum standard, nesterov;
  standard.alpha = nesterov.alpha = 0.75;
  nesterov.beta = 0.5;
  nesterov.mode = "nesterov";
  nesterov.norm_coefficient = 0.1;
  return {
      {standard, two_tensors(1, 0)}, {nesterov, two_tensors(1, 0)}, {nesterov, two_tensors(1, 3)}};
}

std::vector<Sample<Adagrad>> adagrad_samples() {
  return {{{}, two_tensors(1, 0)},
          {{.decay_factor = 0.1, .epsilon = 0.01, .norm_coefficient = 0.1}, two_tensors(1, 3)}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(onnx_update, adam_samples(), momentum_samples(), adagrad_samples())
