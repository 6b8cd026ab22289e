// SPDX-License-Identifier: Apache-2.0
#include "ops/image/resize.h"

#include "ops/shape/axes.h"
#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Resize>> resize_samples() {
  const auto scales = [](const std::vector<float>& values) {
    return sample(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values));
  };
  const auto sizes = [](const Dims& values) { return sample(list_of(values)); };
  const auto roi = [](const std::vector<double>& values) {
    return sample(Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values));
  };
  const SampleInput none = no_sample();
  std::vector<Sample<Resize>> all{
      {{}, {sample("f32[2,3,4,5]"), none, scales({1, 1, 2, 0.6F})}},
      {{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"},
       {sample("i64[2,5]", -9, 9), none, none, sizes({2, 8})}},
      {{.axes = {-1, 2}, .mode = "linear"}, {sample("f32[2,3,4,5]"), none, none, sizes({3, 7})}},
      {{.antialias = 1, .mode = "linear"}, {sample("f32[3,8]"), none, scales({1, 0.4F})}},
      {{.coordinate_transformation_mode = "align_corners", .mode = "cubic"},
       {sample("f32[2,1,4,4]"), none, scales({1, 1, 1.7F, 2})}},
      {{.antialias = 1,
        .coordinate_transformation_mode = "half_pixel_symmetric",
        .cubic_coeff_a = -0.5,
        .exclude_outside = 1,
        .mode = "cubic"},
       {sample("f32[7,6]"), none, scales({0.6F, 1.4F})}},
      {{.axes = {1, 2}, .keep_aspect_ratio_policy = "not_larger", .mode = "linear"},
       {sample("f32[2,4,6]"), none, none, sizes({7, 8})}},
      {{.coordinate_transformation_mode = "tf_crop_and_resize",
        .extrapolation_value = 3,
        .mode = "linear"},
       {sample("f32[2,5,4]"), roi({0, 0.2, -0.3, 1, 0.8, 1.2}), none, sizes({2, 3, 5})}},
      {{.coordinate_transformation_mode = "pytorch_half_pixel", .nearest_mode = "ceil"},
       {sample("f32[3,4]"), none, none, sizes({1, 9})}},
  };
  const SampleInput image = sample("f32[2,4,5]"), part = roi({0, 0.1, 0.2, 1, 0.9, 0.7});
  for (const char* const mode : {"nearest", "linear", "cubic"})
    for (const char* const coordinates :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_crop_and_resize"})
      all.push_back({{.coordinate_transformation_mode = coordinates, .mode = mode},
                     {image, part, none, sizes({2, 7, 3})}});
  for (const char* const nearest : {"round_prefer_ceil", "floor", "ceil"})
    all.push_back({{.nearest_mode = nearest}, {image, none, none, sizes({2, 7, 3})}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(resize, resize_samples())
