// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/tensor_scatter.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

SampleInput indices(std::int64_t first, std::int64_t second) {
  return sample(Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{first, second}));
}

std::vector<Sample<TensorScatter>> tensor_scatter_samples() {
  return {
      {{}, {sample("f32[2,3,5,2]"), sample("f32[2,3,2,2]"), indices(1, 3)}},
      {{1, "circular"}, {sample("f32[2,4,3]"), sample("f32[2,3,3]"), indices(3, 6)}},
      {{-1, "linear"}, {sample("i64[2,4]", -9, 9), sample("i64[2,3]", -9, 9)}},
  };
}

std::vector<Sample<TensorScatterGradient>> tensor_scatter_gradient_samples() {
  return {
      {{-2, "linear", {2, 3, 2, 2}}, {sample("f32[2,3,5,2]"), indices(1, 3)}},
      {{1, "circular", {2, 3, 3}}, {sample("f32[2,4,3]"), indices(3, 6)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(tensor_scatter, tensor_scatter_samples(), tensor_scatter_gradient_samples())
