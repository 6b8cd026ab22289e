// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/gather.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Gather>> gather_samples() {
  const SampleInput list = sample(list_of(Dims{2, 0, -1, 2}));
  const SampleInput table = sample(Tensor::from<std::int32_t>({2, 2}, {1, 1, -3, 0}));
  return {{{}, {sample("f32[3,5]"), list}},
          {{1}, {sample("f32[2,3,4]"), table}},
          {{-1}, {sample("f32[2,3]"), sample(Tensor::scalar(DType::i64, 1))}},
          {{2}, {sample("f32[2,3,4,5]"), list}},
          {{-1}, {sample("f32[2,2,3,4]"), list}},
          {{}, {sample("i64[3]", -9, 9), list}}};
}

std::vector<Sample<GatherGradient>> gather_gradient_samples() {
  const SampleInput list = sample(list_of(Dims{2, 0, -1, 2}));
  const SampleInput table = sample(Tensor::from<std::int32_t>({2, 2}, {1, 1, -3, 0}));
  return {{{0, {3, 5}}, {sample("f32[4,5]"), list}},
          {{1, {2, 3, 4}}, {sample("f32[2,2,2,4]"), table}},
          {{-1, {2, 3}}, {sample("f32[2]"), sample(Tensor::scalar(DType::i64, 1))}},
          {{3, {2, 2, 3, 5}}, {sample("f32[2,2,3,4]"), list}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(gather, gather_samples(), gather_gradient_samples())
