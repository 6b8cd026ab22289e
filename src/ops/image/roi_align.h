// SPDX-License-Identifier: Apache-2.0
// ONNX 22's RoiAlign and its gradient: He et al., "Mask R-CNN", 2017.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2, times spatial_scale in pixels), batch_indices [R] ->
// y [R, C, output_height, output_width]. Each region is cut into bins, each bin read bilinearly at
// sampling_ratio^2 points (0: one for each pixel of a bin, rounded up). `mode` avg gives their
// mean, max the largest of what each of the four pixels around a point contributes. Under
// half_pixel pixels have their centres at 0.5; output_half_pixel leaves this out, and makes regions
// at least a pixel wide. The kernel throws DataError for a batch index outside of x.
struct RoiAlign {
  static constexpr OpInfo info{.name = "RoiAlign",
                               .inputs = "x:T~, rois:T~!, batch_indices:i64~!",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = deny};
  std::string coordinate_transformation_mode = "half_pixel", mode = "avg";
  std::int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  double spatial_scale = 1;

  static void attributes(auto& self, auto&& visit) { visit_roi_align(self, visit); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();

  static void visit_roi_align(auto& self, auto&& visit) {
    visit("coordinate_transformation_mode", self.coordinate_transformation_mode);
    visit("mode", self.mode);
    visit("output_height", self.output_height);
    visit("output_width", self.output_width);
    visit("sampling_ratio", self.sampling_ratio);
    visit("spatial_scale", self.spatial_scale);
  }
};

// dy -> dx; sums in f64, in the order of the regions.
struct RoiAlignGradient {
  static constexpr OpInfo info{.name = "RoiAlignGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, x:T~, rois:T~!, batch_indices:i64~!",
                               .outputs = "dx:T~",
                               .types = "T:float",
                               .precision = deny};
  RoiAlign forward;

  static void attributes(auto& self, auto&& visit) {
    RoiAlign::visit_roi_align(self.forward, visit);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
