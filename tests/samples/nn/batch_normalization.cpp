// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/batch_normalization.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<BatchNormalization>> batch_normalization_samples() {
  std::vector<Sample<BatchNormalization>> all;
  for (const std::int64_t training : {0, 1})
    for (const std::string_view x : {"f32[4,3,2,5]", "f32[7,2]", "f32[2,17,3]", "f32[2,3,2,2,2]"}) {
      const std::string vector = concat("f32[", TensorType::parse(x).shape[1], ']');
      all.push_back(
          {{.epsilon = 1e-3, .momentum = 0.75, .training_mode = training},
           {sample(x), sample(vector), sample(vector), sample(vector), sample(vector, 0.5, 2)}});
    }
  for (const std::string_view x : {"f32[4,3,2,5]", "f32[1,3]"}) {
    const std::string vector = concat("f32[", TensorType::parse(x).shape[1], ']');
    all.push_back(
        {{.training_mode = 1, .unbiased = true},
         {sample(x), sample(vector), sample(vector), sample(vector), sample(vector, 0.5, 2)}});
  }
  all.push_back({{.training_mode = 1},
                 {sample("f32[3,16,4,4]", 5, 6), sample("f32[16]"), sample("f32[16]"),
                  sample("f32[16]"), sample("f32[16]", 0.5, 2)}});
  return all;
}

std::vector<Sample<NormalizeAgain>> normalize_again_samples() {
  std::vector<Sample<NormalizeAgain>> all;
  for (const std::string_view x : {"f32[4,3,2,5]", "f32[7,2]", "f32[2,17,3]"}) {
    const std::string vector = concat("f32[", TensorType::parse(x).shape[1], ']');
    all.push_back({{},
                   {sample(x), sample(vector), sample(vector), sample(vector, -0.5, 0.5),
                    sample(vector, 0.5, 2)}});
  }
  return all;
}

std::vector<Sample<BatchNormalizationGradient>> batch_normalization_gradient_samples() {
  std::vector<Sample<BatchNormalizationGradient>> all;
  for (const bool of_training : {true, false})
    for (const std::string_view x : {"f32[4,3,2,5]", "f32[7,2]", "f32[2,17,3]"}) {
      const std::string vector = concat("f32[", TensorType::parse(x).shape[1], ']');
      all.push_back({{.training = of_training},
                     {sample(x), sample(x), sample(vector), sample(vector, -0.5, 0.5),
                      sample(vector, 0.5, 2)}});
    }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(batch_normalization, batch_normalization_samples(), normalize_again_samples(),
           batch_normalization_gradient_samples())
