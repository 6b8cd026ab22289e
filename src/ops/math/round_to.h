// SPDX-License-Identifier: Apache-2.0
// Rounds to the grid of a narrow format but keeps the wide format: what a Cast down becomes inside
// a fused group, where values are f32.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct RoundTo {
  static constexpr OpInfo info{.name = "RoundTo",
                               .domain = "ng",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = Fusion::elementwise};
  DType dtype = DType::f16;
  static void attributes(auto& self, auto&& visit) { visit("dtype", self.dtype); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const { return {g.output_gradient()}; }
  static Elementwise elementwise();
  static std::span<const Kernel> kernels() { return elementwise_kernels(); }
};

}  // namespace narrowgauge
