// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/one_hot_encoder.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<OneHotEncoder>> one_hot_encoder_samples() {
  OneHotEncoder numbers, known, large;
  numbers.cats_int64s = {3, 1, 2};
  known.cats_int64s = {0, 1, -1};
  known.zeros = 0;
  large.cats_int64s = {INT64_MAX, 0};
  return {{numbers, {sample("i64[2,3]", 0, 4)}},
          {known, {sample("f32[4]", -1.5, 1.5)}},
          {large, {sample("i32[3]", -1, 1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(one_hot_encoder, one_hot_encoder_samples())
