// SPDX-License-Identifier: Apache-2.0
// Sums of products in Einstein's notation.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// numpy.einsum: "ij,jk->ik". Each term before the arrow names the axes of one input by letters; y
// has the axes behind it, and sums run over the others. A letter twice in a term takes the
// diagonal. "..." stands for axes that broadcast. Without an arrow y has the axes of "...", then
// the letters that occur once, in alphabetical order. Inputs are multiplied from left to right.
struct Einsum {
  static constexpr OpInfo info{.name = "Einsum",
                               .inputs = "x*:T",
                               .outputs = "y:T",
                               .types = "T:number",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string equation;
  static void attributes(auto& self, auto&& visit) { visit("equation", self.equation); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
