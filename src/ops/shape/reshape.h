// SPDX-License-Identifier: Apache-2.0
// Reshape and broadcast to a shape that is an attribute, whose dimensions may be symbols.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x in another shape with as many elements.
struct ReshapeTo {
  static constexpr OpInfo info{.name = "ReshapeTo",
                               .domain = "ng",
                               .inputs = "x:T~",
                               .outputs = "y:T~",
                               .precision = clear,
                               .fusion = Fusion::view};
  Shape shape;
  static void attributes(auto& self, auto&& visit) { visit("shape", self.shape); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// x repeated along axes of size 1 and along new leading axes.
struct ExpandTo {
  static constexpr OpInfo info{
      .name = "ExpandTo", .domain = "ng", .inputs = "x:T~", .outputs = "y:T~", .precision = clear};
  Shape shape;
  static void attributes(auto& self, auto&& visit) { visit("shape", self.shape); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Kernels that pass on the memory of their only input: for views of plain operands.
std::span<const Kernel> view_kernels();

}  // namespace narrowgauge
