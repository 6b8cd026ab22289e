// SPDX-License-Identifier: Apache-2.0
// Puts axes in another order.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Axis i of y is axis perm[i] of x; without perm the axes are reversed.
struct Transpose {
  static constexpr OpInfo info{
      .name = "Transpose", .inputs = "x:T~", .outputs = "y:T~", .precision = clear};
  Dims perm;
  static void attributes(auto& self, auto&& visit) { visit("perm", self.perm); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
