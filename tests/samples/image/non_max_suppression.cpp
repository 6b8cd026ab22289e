// SPDX-License-Identifier: Apache-2.0
#include "ops/image/non_max_suppression.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<NonMaxSuppression>> non_max_suppression_samples() {
  const SampleInput corners =
      sample(Tensor::from<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0.125F, 1, 1.125F, 1, 3, 0, 2}));
  const SampleInput score =
      sample(Tensor::from<float>({1, 2, 3}, {0.75F, 0.5F, 0.5F, 0.25F, 0.75F, 0}));
  const SampleInput two = sample(Tensor::scalar(DType::i64, 2));
  const auto threshold = [](double value) { return sample(Tensor::full(DType::f32, {1}, value)); };
  return {{{}, {corners, score, two, threshold(0.5), threshold(0)}},
          {{.center_point_box = 1}, {corners, score, two, threshold(0.25)}},
          {{}, {corners, score}},
          {{}, {corners, score, two, no_sample(), threshold(0.25)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(non_max_suppression, non_max_suppression_samples())
