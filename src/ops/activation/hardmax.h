// SPDX-License-Identifier: Apache-2.0
// One-hot vectors of the largest elements.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// 1 at the first of the largest elements along `axis`, else 0. It is constant almost everywhere: no
// gradient flows.
struct Hardmax {
  static constexpr OpInfo info{.name = "Hardmax",
                               .inputs = "x:T!",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = clear};
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
