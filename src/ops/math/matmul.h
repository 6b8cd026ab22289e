// SPDX-License-Identifier: Apache-2.0
// Products of matrices and of batches of matrices.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// numpy.matmul: a [..., M, K], b [..., K, N] -> y [..., M, N]; leading axes broadcast. A vector on
// the left is a row, one on the right a column, and its axis is missing in y.
struct MatMul {
  static constexpr OpInfo info{.name = "MatMul",
                               .inputs = "a:T~, b:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// MatMul for rank 2 or more, which can first exchange the last two axes of either operand.
struct FusedMatMul {
  static constexpr OpInfo info{.name = "FusedMatMul",
                               .domain = "ng",
                               .inputs = "a:T~, b:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  bool transA = false, transB = false;

  static void attributes(auto& self, auto&& visit) {
    visit("transA", self.transA);
    visit("transB", self.transB);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
