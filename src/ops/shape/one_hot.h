// SPDX-License-Identifier: Apache-2.0
// Indices as vectors.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Along a new axis of size `depth` (constant) at the place `axis` of the result: values[1] where
// the index along it is that of `indices`, else values[0]. Negative indices count from the end;
// those outside the axis give values[0] everywhere.
struct OneHot {
  static constexpr OpInfo info{.name = "OneHot",
                               .inputs = "indices:I!, depth:D!, values:T",
                               .outputs = "y:T",
                               .types = "I:number, D:number",
                               .precision = clear};
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
