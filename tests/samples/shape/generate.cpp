// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/generate.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ConstantOfShape>> constant_of_shape_samples() {
  const auto shape = [](const Dims& sizes) { return sample(list_of(sizes)); };
  return {{{}, {shape({2, 3})}},
          {{Tensor::full(DType::f32, {1}, 1.5)}, {shape({7})}},
          {{Tensor::full(DType::i64, {1}, -3)}, {shape({})}},
          {{Tensor::full(DType::boolean, {1}, 1)}, {shape({3, 0})}}};
}

std::vector<Sample<Range>> range_samples() {
  const auto numbers = [](DType dtype, double start, double limit, double delta) {
    return std::vector<SampleInput>{sample(Tensor::scalar(dtype, start)),
                                    sample(Tensor::scalar(dtype, limit)),
                                    sample(Tensor::scalar(dtype, delta))};
  };
  return {{{}, numbers(DType::f32, 1, 2, 0.25)},
          {{}, numbers(DType::i64, 10, -6, -3)},
          {{}, numbers(DType::i32, 3, 3, 1)},
          {{}, numbers(DType::u64, 3, 9, 2)},
          {{}, numbers(DType::f32, 1, 0, 2)}};
}

std::vector<Sample<EyeLike>> eye_like_samples() {
  return {{{}, {sample("f32[3,5]")}},
          {{.k = -1}, {sample("f32[4,3]")}},
          {{.dtype = DType::i32, .k = 2}, {sample("f32[3,3]")}},
          {{}, {sample("i64[2,2]", -9, 9)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(generate, constant_of_shape_samples(), range_samples(), eye_like_samples())
