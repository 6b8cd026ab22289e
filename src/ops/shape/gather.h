// SPDX-License-Identifier: Apache-2.0
// Chooses slices by their index: embeddings.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y[i..., j..., k...] = data[i..., indices[j...], k...], the index taken along `axis`. Negative
// indices count from the end, if `counts_from_end` says so. Throws DataError at run time for one
// outside the axis.
struct Gather {
  static constexpr OpInfo info{.name = "Gather",
                               .inputs = "data:T, indices:I!~",
                               .outputs = "y:T",
                               .types = "I:index",
                               .precision = clear};
  std::int64_t axis = 0;
  // What is refused changes no result: it is no attribute, neither in texts and fingerprints of
  // graphs nor in files of ONNX, where negative indices always count from the end.
  bool counts_from_end = true;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// For each slice of a tensor of `shape`, the sum of all slices of dy that were taken from it; zeros
// if there are none. Sums are computed in f32 in the order of the indices.
struct GatherGradient {
  static constexpr OpInfo info{.name = "GatherGradient",
                               .domain = "ng",
                               .inputs = "dy:T, indices:I!~",
                               .outputs = "dx:T",
                               .types = "T:float, I:index",
                               .precision = narrowgauge::infer};
  std::int64_t axis = 0;
  Shape shape;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
