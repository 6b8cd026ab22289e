// SPDX-License-Identifier: Apache-2.0
// Where the largest and smallest elements along an axis are.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

enum class Extreme { largest, smallest };

// The index along `axis` of the extreme element, of the first one among equals, or of the last one
// with select_last_index. NaN wins over every number. The axis stays with size 1 if keepdims.
template <Extreme kind>
struct ArgExtreme {
  static constexpr OpInfo info{.name = kind == Extreme::largest ? "ArgMax" : "ArgMin",
                               .inputs = "x:T!",
                               .outputs = "y:i64",
                               .types = "T:number",
                               .precision = clear};
  std::int64_t axis = 0, keepdims = 1, select_last_index = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("keepdims", self.keepdims);
    visit("select_last_index", self.select_last_index);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

using ArgMax = ArgExtreme<Extreme::largest>;
using ArgMin = ArgExtreme<Extreme::smallest>;

}  // namespace narrowgauge
