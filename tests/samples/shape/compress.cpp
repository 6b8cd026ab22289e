// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/compress.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<NonZero>> non_zero_samples() {
  return {{{}, {sample(Tensor::from<float>({2, 3}, {1, 0, -2, 0, 0, 0.5F}))}},
          {{}, {sample(Tensor::from<std::int64_t>({4}, {0, 0, 7, 0}))}},
          {{}, {sample(Tensor(DType::f32, {3}))}},
          {{}, {sample(Tensor::scalar(DType::boolean, 1))}}};
}

std::vector<Sample<Compress>> compress_samples() {
  const auto condition = [](Dims places) { return sample(list_of(places).cast(DType::boolean)); };
  return {{{}, {sample("f32[2,3]"), condition({0, 1, 1, 0, 1})}},
          {{.axis = 1}, {sample("f32[2,4,3,5]"), condition({1, 0, 1})}},
          {{.axis = -1}, {sample("i64[3,2]", -9, 9), condition({0, 1})}},
          {{.axis = 0}, {sample("f32[3]"), condition({0, 0, 0})}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(compress, non_zero_samples(), compress_samples())
