// SPDX-License-Identifier: Apache-2.0
#include "ops/image/roi_align.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RoiAlign>> roi_align_samples() {
  const SampleInput rois = sample(Tensor::from<float>(
      {3, 4}, std::vector<float>{0.5F, 1, 4.25F, 3.75F, -2, 0, 9, 2.5F, 1, 1, 1.5F, 1.25F}));
  const SampleInput images = sample(Tensor::from<std::int64_t>({3}, {1, 0, 1}));
  const auto inputs = [&] {
    return std::vector<SampleInput>{sample("f32[2,3,5,6]"), rois, images};
  };
  return {
      {{.output_height = 2, .output_width = 3}, inputs()},
      {{.coordinate_transformation_mode = "output_half_pixel",
        .output_height = 3,
        .output_width = 2,
        .sampling_ratio = 2,
        .spatial_scale = 0.75},
       inputs()},
      {{.mode = "max", .output_height = 2, .output_width = 2}, inputs()},
  };
}

std::vector<Sample<RoiAlignGradient>> roi_align_gradient_samples() {
  std::vector<Sample<RoiAlignGradient>> all;
  for (auto& like : roi_align_samples()) {
    const TensorType dy{DType::f32, {3, 3, like.op.output_height, like.op.output_width}};
    std::vector<SampleInput> inputs{{dy}};
    inputs.insert(inputs.end(), like.inputs.begin(), like.inputs.end());
    all.push_back({{like.op}, std::move(inputs)});
  }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(roi_align, roi_align_samples(), roi_align_gradient_samples())
