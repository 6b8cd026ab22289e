// SPDX-License-Identifier: Apache-2.0
// The largest or smallest elements along an axis.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The k (constant) largest elements along `axis`, or the smallest ones if `largest` is 0, in their
// order, and their indices; among equals the lower index comes first. NaN counts as larger than
// every number. `sorted` = 0 would allow any order.
struct TopK {
  static constexpr OpInfo info{.name = "TopK",
                               .inputs = "x:T, k:i64!",
                               .outputs = "values:T, indices:i64!",
                               .types = "T:number",
                               .precision = clear};
  std::int64_t axis = -1, largest = 1, sorted = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("largest", self.largest);
    visit("sorted", self.sorted);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
