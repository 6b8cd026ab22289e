// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/features.h"

#include <cmath>

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Binarizer>> binarizer_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}},
          {{.threshold = -0.5}, {sample("i64[7]", -3, 3)}},
          {{.threshold = 1}, {sample("f32[3]")}}};
}

std::vector<Sample<Scaler>> scaler_samples() {
  const Tensor one = Tensor::full(DType::f32, {1}, 0.5);
  const Tensor three = Tensor::from<float>({3}, {0.5F, -1, 2});
  return {{{one, three}, {sample("f32[4,3]")}},
          {{three, one}, {sample("i64[3]", -9, 9)}},
          {{{}, three}, {sample("i32[2,3]", -9, 9)}}};
}

std::vector<Sample<Normalizer>> normalizer_samples() {
  std::vector<Sample<Normalizer>> all;
  for (const char* const norm : {"MAX", "L1", "L2"}) {
    all.push_back({{norm}, {sample("f32[4,3]")}});
    all.push_back({{norm}, {sample(Tensor::from<std::int64_t>({2, 2}, {0, 0, 3, -4}))}});
  }
  return all;
}

std::vector<Sample<Imputer>> imputer_samples() {
  Imputer floats, missing, numbers;
  floats.imputed_value_floats = Tensor::from<float>({3}, {0.5F, -1, 2});
  missing.imputed_value_floats = Tensor::full(DType::f32, {1}, 0.25);
  missing.replaced_value_float = NAN;
  numbers.imputed_value_int64s = {5, 6};
  numbers.replaced_value_int64 = -1;
  return {{floats, {sample("f32[4,3]", 0, 2)}},
          {floats, {sample(Tensor::from<float>({1, 3}, {0, 1, 0}))}},
          {missing, {sample(Tensor::from<float>({3}, {NAN, 1, NAN}))}},
          {numbers, {sample("i64[4,2]", -1, 1)}}};
}

std::vector<Sample<ArrayFeatureExtractor>> array_feature_extractor_samples() {
  const SampleInput list = sample(list_of(Dims{2, 0, 2}));
  return {{{}, {sample("f32[4,3]"), list}},
          {{}, {sample("f32[3]"), list}},
          {{}, {sample("i32[2,3,3]", -9, 9), sample("i64[2,2]", 0, 2)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(features, binarizer_samples(), scaler_samples(), normalizer_samples(), imputer_samples(),
           array_feature_extractor_samples())
