// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/softmax.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> softmax_samples() {
  return {{{}, {sample("f32[3,10]")}},
          {{1}, {sample("f32[2,5,3,4]", -6, 6)}},
          {{0}, {sample("f32[17,3]")}},
          {{-2}, {sample("f32[2,3,1]")}},
          {{}, {sample("f32[2,600]", -20, 20)}}};
}

template <class Op>
std::vector<Sample<Op>> softmax_gradient_samples(double low, double high) {
  return {{{}, {sample("f32[3,10]", low, high), sample("f32[3,10]")}},
          {{1}, {sample("f32[2,5,3,4]", low, high), sample("f32[2,5,3,4]")}},
          {{0}, {sample("f32[17,3]", low, high), sample("f32[17,3]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(softmax, softmax_samples<Softmax>(), softmax_samples<LogSoftmax>(),
           softmax_gradient_samples<SoftmaxGradient>(0, 0.5),
           softmax_gradient_samples<LogSoftmaxGradient>(-4, 0))
