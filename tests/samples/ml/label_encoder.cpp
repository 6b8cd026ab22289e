// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/label_encoder.h"

#include <cmath>

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<LabelEncoder>> label_encoder_samples() {
  LabelEncoder numbers, floats, tensors;
  numbers.keys_int64s = {1, 2, 1, INT64_MAX};
  numbers.values_int64s = {5, INT64_MAX, 7, 8};
  floats.keys_floats = Tensor::from<float>({3}, {0.5F, NAN, 2});
  floats.values_floats = Tensor::from<float>({3}, {1, 2, 3});
  floats.default_float = -4;
  tensors.keys_tensor = Tensor::from<float>({2}, {0, 1});
  tensors.values_tensor = Tensor::from<std::int16_t>({2}, {-7, 7});
  return {{numbers, {sample("i64[2,3]", 0, 3)}},
          {floats, {sample(Tensor::from<float>({5}, {2, NAN, 0.5F, 0, -2}))}},
          {tensors, {sample(Tensor::from<float>({3}, {1, -0.0F, 2}))}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(label_encoder, label_encoder_samples())
