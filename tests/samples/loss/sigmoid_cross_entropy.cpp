// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sigmoid_cross_entropy.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<SigmoidCrossEntropy>> sigmoid_cross_entropy_samples() {
  return {{{}, {sample("f32[3,7]", -8, 8), sample("f32[3,7]", 0, 1)}},
          {{}, {sample("f32[1]", -8, 8), sample("f32[1]", 0, 1)}}};
}

std::vector<Sample<SigmoidCrossEntropyGradient>> sigmoid_cross_entropy_gradient_samples() {
  return {{{}, {sample("f32[3,7]", -8, 8), sample("f32[3,7]", 0, 1), sample("f32[3,7]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(sigmoid_cross_entropy, sigmoid_cross_entropy_samples(),
           sigmoid_cross_entropy_gradient_samples())
