// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/unique.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Unique>> unique_samples() {
  const SampleInput list = sample(Tensor::from<float>({6}, {2, 1, 1, 3, 4, 3}));
  const SampleInput matrix = sample(Tensor::from<float>({3, 2}, {2, 3, 1, 0, 2, 3}));
  return {{{}, {list}},
          {{.sorted = 0}, {list}},
          {{.axis = 0}, {matrix}},
          {{.axis = -1, .sorted = 0}, {matrix}},
          {{}, {sample(Tensor::from<std::int64_t>({2, 2}, {INT64_MAX, -1, INT64_MAX - 1, -1}))}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(unique, unique_samples())
