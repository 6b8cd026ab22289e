// SPDX-License-Identifier: Apache-2.0
// Determinants of square matrices.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [..., M, M] -> y [...], by elimination in f64.
struct Det {
  static constexpr OpInfo info{
      .name = "Det", .inputs = "x:T", .outputs = "y:T", .types = "T:float", .precision = deny};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy times the cofactors of x: each is a determinant itself, so that singular matrices have
// gradients too.
struct DetGradient {
  static constexpr OpInfo info{.name = "DetGradient",
                               .domain = "ng",
                               .inputs = "x:T, dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = deny};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
