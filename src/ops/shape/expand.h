// SPDX-License-Identifier: Apache-2.0
// Broadcasting as an op of its own.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x broadcast against the constant `shape`, in both directions as in ONNX: where `shape` is 1, x
// keeps its size.
struct Expand {
  static constexpr OpInfo info{
      .name = "Expand", .inputs = "x:T~, shape:i64!", .outputs = "y:T~", .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
