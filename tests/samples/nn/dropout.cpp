// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/dropout.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Dropout>> dropout_samples() {
  const SampleInput yes = sample(Tensor::scalar(DType::boolean, 1));
  const SampleInput no = sample(Tensor::scalar(DType::boolean, 0));
  const SampleInput quarter = sample(Tensor::scalar(DType::f32, 0.25));
  return {{{}, {sample("f32[2,3]")}},
          {{}, {sample("f32[2,3,4,5]"), quarter, yes}},
          {{.seed = 7}, {sample("f32[1500]"), no_sample(), yes}},
          {{}, {sample("f32[7]"), quarter, no}}};
}

std::vector<Sample<DropoutGradient>> dropout_gradient_samples() {
  const SampleInput yes = sample(Tensor::scalar(DType::boolean, 1));
  const SampleInput ratio = sample(Tensor::scalar(DType::f32, 0.25));
  return {{{}, {sample("f32[2,3,4,5]"), sample("bool[2,3,4,5]", 0, 1), ratio, yes}},
          {{}, {sample("f32[9]"), sample("bool[9]", 0, 1), no_sample(), yes}},
          {{}, {sample("f32[9]"), sample("bool[9]", 0, 1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(dropout, dropout_samples(), dropout_gradient_samples())
