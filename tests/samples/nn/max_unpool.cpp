// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/max_unpool.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<MaxUnpool>> max_unpool_samples() {
  const SampleInput indices =
      sample(Tensor::from<std::int64_t>({2, 1, 2, 2}, {5, 7, 13, 8, 16, 19, 25, 31}));
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {sample("f32[2,1,2,2]"), indices}},
      {{.kernel_shape = {2, 2}, .strides = {2, 2}},
       {sample("f32[2,1,2,2]"), indices, sample(list_of(Dims{2, 1, 5, 4}))}},
      {{.kernel_shape = {3}, .pads = {1, 0}, .strides = {2}},
       {sample("f32[1,2,3]"), sample(Tensor::from<std::int64_t>({1, 2, 3}, {0, 3, 4, 7, 9, 10}))}},
  };
}

std::vector<Sample<MaxUnpoolGradient>> max_unpool_gradient_samples() {
  const SampleInput indices = sample(Tensor::from<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 8}));
  return {{{{1, 1, 4, 4}}, {sample("f32[1,1,4,4]"), indices}},
          {{{1, 1, 4, 4}}, {sample("f32[1,1,4,6]"), indices}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(max_unpool, max_unpool_samples(), max_unpool_gradient_samples())
