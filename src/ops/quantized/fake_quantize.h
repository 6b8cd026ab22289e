// SPDX-License-Identifier: Apache-2.0
// Quantisation in training: values on the grid of whole numbers, whose gradient passes straight
// through (Bengio, Leonard, Courville 2013, "Estimating or Propagating Gradients Through Stochastic
// Neurons").
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// DequantizeLinear of QuantizeLinear: x on the grid of scale and zero point, whose dtype says which
// whole numbers there are. There is one scale for all, or a list of one for each index of `axis`.
// The gradient of x is that of y where x is no farther than a step from it, and 0 beyond the ends
// of the grid. Scales are constants of training.
struct FakeQuantize {
  static constexpr OpInfo info{.name = "FakeQuantize",
                               .domain = "ng",
                               .inputs = "x:T~, scale:T!~, zero_point:any!~",
                               .outputs = "y:T~",
                               .types = "T:float"};
  std::int64_t axis = 1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
