// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/trilu.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Trilu>> trilu_samples() {
  const auto k = [](double value) { return sample(Tensor::scalar(DType::i64, value)); };
  return {{{}, {sample("f32[4,5]")}},
          {{.upper = 0}, {sample("f32[2,3,3]"), k(1)}},
          {{}, {sample("f32[2,2,5,3]"), k(-2)}},
          {{.upper = 0}, {sample("i64[3,4]", -9, 9), k(-9)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(trilu, trilu_samples())
