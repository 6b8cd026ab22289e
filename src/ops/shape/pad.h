// SPDX-License-Identifier: Apache-2.0
// Adds values around a tensor: a constant, its edge, or itself mirrored or repeated.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// `pads` (constant): how many elements to add before each axis of `axes` (all, if absent), then
// after each; negative ones cut elements off. `mode`: constant (constant_value, or 0), edge,
// reflect (without repeating the edge), wrap.
struct Pad {
  static constexpr OpInfo info{.name = "Pad",
                               .inputs = "x:T, pads:i64!, constant_value?:T, axes?:I!",
                               .outputs = "y:T",
                               .types = "I:index",
                               .precision = clear};
  std::string mode = "constant";
  static void attributes(auto& self, auto&& visit) { visit("mode", self.mode); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// For modes other than constant: each element of dx is the sum of dy over the places it was copied
// to. `pads` are those of all axes of x, whose shape is `shape`.
struct PadGradient {
  static constexpr OpInfo info{.name = "PadGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  std::string mode = "edge";
  Shape shape;
  Dims pads;
  static void attributes(auto& self, auto&& visit) {
    visit("mode", self.mode);
    visit("shape", self.shape);
    visit("pads", self.pads);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
