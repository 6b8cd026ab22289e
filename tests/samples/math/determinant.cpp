// SPDX-License-Identifier: Apache-2.0
#include "ops/math/determinant.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Det>> det_samples() {
  return {{{}, {sample("f32[3,3]")}},
          {{}, {sample("f32[2,3,4,4]")}},
          {{}, {sample("f32[1,1]")}},
          {{}, {sample("f32[2,0,0]")}}};
}

std::vector<Sample<DetGradient>> det_gradient_samples() {
  return {{{}, {sample("f32[3,3]"), sample("f32[]")}},
          {{}, {sample("f32[2,4,4]"), sample("f32[2]")}},
          {{}, {sample(Tensor::full(DType::f32, {2, 2}, 1)), sample("f32[]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(determinant, det_samples(), det_gradient_samples())
