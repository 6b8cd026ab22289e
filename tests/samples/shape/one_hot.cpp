// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/one_hot.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<OneHot>> one_hot_samples() {
  const auto depth = [](double value) { return sample(Tensor::scalar(DType::i64, value)); };
  const SampleInput numbers = sample("i64[2]", -9, 9);
  return {{{}, {sample("i64[2,3]", -4, 4), depth(4), sample("f32[2]")}},
          {{.axis = 1}, {sample("i32[3,2]", 0, 6), depth(5), sample("f32[2]")}},
          {{.axis = 0}, {sample("f32[7]", -3, 3), sample(list_of(Dims{3})), sample("f32[2]")}},
          {{.axis = -2}, {sample("u8[3]", 0, 3), depth(3), numbers}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(one_hot, one_hot_samples())
