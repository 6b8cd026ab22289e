// SPDX-License-Identifier: Apache-2.0
// Brings a tensor to a shape around its centre.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x cropped or padded with zeros on both sides alike, so that the axes in `axes` (all, if none are
// given) have the sizes in `shape` (constant). An odd element is cut off, or added, at the end.
struct CenterCropPad {
  static constexpr OpInfo info{.name = "CenterCropPad",
                               .inputs = "x:T, shape:I!",
                               .outputs = "y:T",
                               .types = "I:index",
                               .precision = clear};
  Dims axes;
  static void attributes(auto& self, auto&& visit) { visit("axes", self.axes); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
