// SPDX-License-Identifier: Apache-2.0
// ONNX's ConvTranspose: the gradient of a convolution by its input, as an op.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x [N, C, spatial...], w [C, M / group, kernel...], b [M] -> y [N, M, spatial...], of size stride
// * (x - 1) + output_padding + dilation * (kernel - 1) + 1 - pads along each axis. output_shape
// (spatial) or auto_pad SAME_UPPER and SAME_LOWER (stride * x) choose the pads instead; of an odd
// number the end gets more, but the beginning under SAME_LOWER.
struct ConvTranspose {
  static constexpr OpInfo info{.name = "ConvTranspose",
                               .inputs = "x:T, w:T~, b?:T~",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, output_padding{}, output_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit_convolution(self, visit);
    visit("output_padding", self.output_padding);
    visit("output_shape", self.output_shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
