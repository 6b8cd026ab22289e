// SPDX-License-Identifier: Apache-2.0
// ONNX 22's GridSample and its gradient: reads an image at any places (Jaderberg et al., "Spatial
// transformer networks", 2015).
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, C, in...] with r spatial axes, grid [N, out..., r] -> y [N, C, out...]: x at the places in
// grid, the last axis of x first; -1 and 1 are its ends, as align_corners says. `mode`: nearest
// (half to even), linear, cubic. `padding_mode` says what lies outside: zeros, border, reflection.
// Integers are truncated.
struct GridSample {
  static constexpr OpInfo info{.name = "GridSample",
                               .inputs = "x:T~, grid:G~",
                               .outputs = "y:T~",
                               .types = "T:number, G:float",
                               .precision = deny};
  std::int64_t align_corners = 0;
  std::string mode = "linear", padding_mode = "zeros";

  static void attributes(auto& self, auto&& visit) {
    visit("align_corners", self.align_corners);
    visit("mode", self.mode);
    visit("padding_mode", self.padding_mode);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy [N, C, out...], x, grid -> dx and dgrid; sums in f64, in the order of the places.
struct GridSampleGradient {
  static constexpr OpInfo info{.name = "GridSampleGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, x:T~, grid:G~",
                               .outputs = "dx?:T~, dgrid?:G~",
                               .types = "T:float, G:float",
                               .precision = deny};
  std::int64_t align_corners = 0;
  std::string mode = "linear", padding_mode = "zeros";

  static void attributes(auto& self, auto&& visit) {
    visit("align_corners", self.align_corners);
    visit("mode", self.mode);
    visit("padding_mode", self.padding_mode);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
