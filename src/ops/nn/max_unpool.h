// SPDX-License-Identifier: Apache-2.0
// ONNX 22's MaxUnpool, a partial inverse of MaxPool, and its gradient.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x and indices [N, C, spatial...] -> y [N, C, strides * (spatial - 1) + kernel_shape - pads]: each
// x at the index, in row-major y, that MaxPool gave; zeros elsewhere. With the constant
// output_shape y has that shape, and the part of it that y had otherwise is filled. The kernel
// throws DataError for an index outside of y.
struct MaxUnpool {
  static constexpr OpInfo info{.name = "MaxUnpool",
                               .inputs = "x:T~, indices:i64~!, output_shape?:i64!",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = clear};
  Dims kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit("kernel_shape", self.kernel_shape);
    visit("pads", self.pads);
    visit("strides", self.strides);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dx = dy at the indices, which count in a tensor of `shape`.
struct MaxUnpoolGradient {
  static constexpr OpInfo info{.name = "MaxUnpoolGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, indices:i64~!",
                               .outputs = "dx:T~",
                               .types = "T:float",
                               .precision = clear};
  Shape shape{};

  static void attributes(auto& self, auto&& visit) { visit("shape", self.shape); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
