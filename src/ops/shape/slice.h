// SPDX-License-Identifier: Apache-2.0
// Takes every step-th element between two ends, along some axes.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// starts, ends, axes and steps are constant. Negative starts and ends count from the end; both are
// clamped to the axis, as in numpy. A negative step walks backwards. Along an axis whose size is a
// symbol, the ends count as inside until the symbol is bound.
struct Slice {
  static constexpr OpInfo info{.name = "Slice",
                               .inputs = "x:T, starts:I!, ends:I!, axes?:I!, steps?:I!",
                               .outputs = "y:T",
                               .types = "I:index",
                               .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy in the places it was taken from in a tensor of `shape`, zeros elsewhere.
struct SliceGradient {
  static constexpr OpInfo info{.name = "SliceGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx:T",
                               .precision = clear};
  Shape shape;
  Dims starts, ends, axes, steps;
  static void attributes(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("starts", self.starts);
    visit("ends", self.ends);
    visit("axes", self.axes);
    visit("steps", self.steps);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
