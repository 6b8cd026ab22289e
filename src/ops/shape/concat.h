// SPDX-License-Identifier: Apache-2.0
// Joins tensors along an axis, and cuts one into pieces.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

struct Concat {
  static constexpr OpInfo info{
      .name = "Concat", .inputs = "inputs*:T", .outputs = "y:T", .precision = clear};
  std::int64_t axis = 0;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Makes pieces of the sizes in `split` (constant), or num_outputs equal pieces, the last of which
// may be smaller.
struct Split {
  static constexpr OpInfo info{
      .name = "Split", .inputs = "x:T, split?:i64!", .outputs = "outputs*:T", .precision = clear};
  std::int64_t axis = 0;
  std::int64_t num_outputs = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("num_outputs", self.num_outputs);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Cuts dy of Concat into the joined pieces; sizes along the axis may be symbols.
struct ConcatGradient {
  static constexpr OpInfo info{.name = "ConcatGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx*:T",
                               .precision = clear};
  std::int64_t axis = 0;
  Shape sizes;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("sizes", self.sizes);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
