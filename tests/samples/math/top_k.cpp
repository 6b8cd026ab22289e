// SPDX-License-Identifier: Apache-2.0
#include "ops/math/top_k.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<TopK>> top_k_samples() {
  const auto k = [](std::int64_t value) { return sample(list_of(Dims{value})); };
  return {{{}, {sample("f32[3,5]"), k(2)}},
          {{.axis = 1, .largest = 0}, {sample("f32[2,4,3,5]"), k(3)}},
          {{.axis = 0, .sorted = 0}, {sample("f32[7]"), k(7)}},
          {{}, {sample("f32[2,3]"), k(0)}},
          {{.axis = -2}, {sample("i64[9,2]", -2, 2), k(4)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(top_k, top_k_samples())
