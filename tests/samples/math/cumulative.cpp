// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cumulative.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> cumulative_samples() {
  const auto axis = [](double value) { return sample(Tensor::scalar(DType::i64, value)); };
  return {{{}, {sample("f32[5]"), axis(0)}},
          {{.exclusive = 1}, {sample("f32[2,6]"), axis(-1)}},
          {{.reverse = 1}, {sample("f32[3,4,2]"), axis(1)}},
          {{.exclusive = 1, .reverse = 1}, {sample("f32[2,3,4,5]"), axis(1)}},
          {{}, {sample("f32[2,1]"), sample(list_of(Dims{1}))}},
          {{.reverse = 1}, {sample("i64[3,3]", -3, 3), axis(0)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(cumulative, cumulative_samples<CumSum>(), cumulative_samples<CumProd>())
