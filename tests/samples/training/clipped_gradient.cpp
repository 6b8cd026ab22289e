// SPDX-License-Identifier: Apache-2.0
#include "ops/training/clipped_gradient.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ClippedGradient>> clipped_gradient_samples() {
  const SampleInput multiplier = sample(Tensor::scalar(DType::f32, 0.125));
  return {{{.limit = 2}, {sample("f32[3,7]", -100, 100), multiplier}},
          {{.limit = 0.5}, {sample("f32[]", -100, 100), multiplier}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(clipped_gradient, clipped_gradient_samples())
