// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/relu.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Relu>> relu_samples() { return {{{}, {sample("f32[2,3,5]")}}}; }

std::vector<Sample<ReluGradient>> relu_gradient_samples() {
  return {{{}, {sample("f32[2,17]"), sample("f32[2,17]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(relu, relu_samples(), relu_gradient_samples())
