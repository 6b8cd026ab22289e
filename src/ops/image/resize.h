// SPDX-License-Identifier: Apache-2.0
// ONNX 19's Resize: interpolation between the elements of a tensor, one axis after the other.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x resized along `axes` (all, if empty) by the constant `scales`, or to the constant `sizes` as
// keep_aspect_ratio_policy says. `mode` is nearest, linear or cubic; the constant `roi` [starts...,
// ends...] is for coordinate_transformation_mode tf_crop_and_resize alone. Interpolation is
// computed in f32 (f64 for f64); integers are truncated. Each axis is multiplied with a matrix of
// weights, so that a value that is not finite may reach others along the axes.
struct Resize {
  static constexpr OpInfo info{.name = "Resize",
                               .inputs = "x:T, roi?:R!, scales?:f32!, sizes?:i64!",
                               .outputs = "y:T",
                               .types = "T:number, R:float",
                               .precision = narrowgauge::infer};
  std::int64_t antialias = 0;
  Dims axes{};
  std::string coordinate_transformation_mode = "half_pixel";
  double cubic_coeff_a = -0.75;
  std::int64_t exclude_outside = 0;
  double extrapolation_value = 0;
  std::string keep_aspect_ratio_policy = "stretch", mode = "nearest";
  std::string nearest_mode = "round_prefer_floor";

  static void attributes(auto& self, auto&& visit) {
    visit("antialias", self.antialias);
    visit("axes", self.axes);
    visit("coordinate_transformation_mode", self.coordinate_transformation_mode);
    visit("cubic_coeff_a", self.cubic_coeff_a);
    visit("exclude_outside", self.exclude_outside);
    visit("extrapolation_value", self.extrapolation_value);
    visit("keep_aspect_ratio_policy", self.keep_aspect_ratio_policy);
    visit("mode", self.mode);
    visit("nearest_mode", self.nearest_mode);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
