// SPDX-License-Identifier: Apache-2.0
// The limit on each element of a gradient, which stands between the gradient and its update.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The true gradient, gradient * multiplier, with each element limited to [-limit, limit], as
// PyTorch's clip_grad_value_. It is f32 for narrow gradients, so that neither the unscaled gradient
// nor the limit is rounded to their format.
struct ClippedGradient {
  static constexpr OpInfo info{.name = "ClippedGradient",
                               .domain = "ng",
                               .inputs = "gradient:G~^, multiplier:S",
                               .outputs = "clipped:any~",
                               .types = "G:float, S:wide",
                               .stage = Stage::trained};
  double limit = 1;
  static void attributes(auto& self, auto&& visit) { visit("limit", self.limit); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
