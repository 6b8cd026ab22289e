// SPDX-License-Identifier: Apache-2.0
// ONNX 20's AffineGrid: the places that an affine map gives to the pixels of an image, for
// GridSample.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// theta [N, 2, 3], constant size (N, C, H, W) -> grid [N, H, W, 2] of theta (x, y, 1), or theta [N,
// 3, 4] and (N, C, D, H, W) -> [N, D, H, W, 3]; x runs along the last axis. Its ends -1 and 1 are
// the centres of the outer pixels with align_corners, else their outer edges.
struct AffineGrid {
  static constexpr OpInfo info{.name = "AffineGrid",
                               .inputs = "theta:T~, size:i64!",
                               .outputs = "grid:T~",
                               .types = "T:float",
                               .precision = deny};
  std::int64_t align_corners = 0;
  static void attributes(auto& self, auto&& visit) { visit("align_corners", self.align_corners); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
