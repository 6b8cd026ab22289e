// SPDX-License-Identifier: Apache-2.0
// The same bits as numbers of another format.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x with its bits read in the dtype `to`, which has as many. A truth value must not come of it: not
// all bits are one.
struct BitCast {
  static constexpr OpInfo info{.name = "BitCast", .inputs = "x:any!", .outputs = "y:any!"};
  DType to = DType::f32;
  static void attributes(auto& self, auto&& visit) { visit("to", self.to); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
