// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/sigmoid.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<HardSigmoid>> hard_sigmoid_samples() {
  auto all = unary_samples<HardSigmoid>(-4, 4);
  all.push_back({{.alpha = 0.5, .beta = 0.25}, {sample("f32[33]")}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(sigmoid, unary_samples<Sigmoid>(-6, 6), gradient_samples<SigmoidGradient>(0, 1),
           unary_samples<Tanh>(-3, 3), gradient_samples<TanhGradient>(-1, 1),
           unary_samples<Softplus>(-6, 6), gradient_samples<SoftplusGradient>(-6, 6),
           hard_sigmoid_samples(), gradient_samples<HardSigmoidGradient>(-4, 4))
