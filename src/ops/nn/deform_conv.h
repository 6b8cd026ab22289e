// SPDX-License-Identifier: Apache-2.0
// ONNX 22's DeformConv: a convolution whose taps lie at places of their own (Dai et al.,
// "Deformable convolutional networks", 2017; with a mask Zhu et al., 2018).
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// As Conv, with x [N, C, in...] read linearly at the place of each tap plus its offset; zeros
// outside. offset [N, offset_group * taps * axes, out...] in elements, first axis first, mask [N,
// offset_group
// * taps, out...] multiplies what is read; each offset group serves C / offset_group channels.
struct DeformConv {
  static constexpr OpInfo info{.name = "DeformConv",
                               .inputs = "x:T~, w:T~, offset:T~, b?:T~, mask?:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{};
  std::int64_t offset_group = 1;
  Dims pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit("dilations", self.dilations);
    visit("group", self.group);
    visit("kernel_shape", self.kernel_shape);
    visit("offset_group", self.offset_group);
    visit("pads", self.pads);
    visit("strides", self.strides);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
