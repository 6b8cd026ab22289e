// SPDX-License-Identifier: Apache-2.0
// Sums and products of all elements up to each one, along an axis.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

constexpr OpInfo cumulative_info(std::string_view name) {
  return {.name = name,
          .inputs = "x:T, axis:I!",
          .outputs = "y:T",
          .types = "T:number, I:index",
          .precision = deny};
}

// Each element of y is the sum of x up to it along `axis` (constant), without its own with
// `exclusive`, from the end with `reverse`. Sums are computed in f64, integers exactly.
struct CumSum {
  static constexpr OpInfo info = cumulative_info("CumSum");
  std::int64_t exclusive = 0, reverse = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("exclusive", self.exclusive);
    visit("reverse", self.reverse);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// The same with products. They are made of products over 1, 2, 4, ... neighbours (Hillis and
// Steele, "Data parallel algorithms", 1986), each rounded, so that the gradient needs no division.
struct CumProd {
  static constexpr OpInfo info = cumulative_info("CumProd");
  std::int64_t exclusive = 0, reverse = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("exclusive", self.exclusive);
    visit("reverse", self.reverse);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
