// SPDX-License-Identifier: Apache-2.0
// ONNX's Gemm.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y [M, N] = alpha * op(a) [M, K] op(b) [K, N] + beta * c, where op exchanges the axes if asked to;
// c broadcasts to y.
struct Gemm {
  static constexpr OpInfo info{.name = "Gemm",
                               .inputs = "a:T~, b:T~, c?:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  double alpha = 1, beta = 1;
  std::int64_t transA = 0, transB = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("transA", self.transA);
    visit("transB", self.transB);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
