// SPDX-License-Identifier: Apache-2.0
// Adds up blocks to an image.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, C * elements of a block, blocks] -> y [N, C, image_shape...]: each pixel is the sum of the
// elements of blocks that lie on it. Blocks of block_shape (both shapes are constant) stand
// `strides` apart on the image with `pads` (before each axis, then after each), their elements
// `dilations` apart; what lies on the padding is left out.
struct Col2Im {
  static constexpr OpInfo info{.name = "Col2Im",
                               .inputs = "x:T, image_shape:i64!, block_shape:i64!",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  Dims dilations{}, pads{}, strides{};
  static void attributes(auto& self, auto&& visit) {
    visit("dilations", self.dilations);
    visit("pads", self.pads);
    visit("strides", self.strides);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
