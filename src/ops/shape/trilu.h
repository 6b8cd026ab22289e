// SPDX-License-Identifier: Apache-2.0
// The upper or lower triangle of matrices.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [..., M, N] with zeros below diagonal k (constant, 0 if absent, counted upwards from the main
// one), or above it if `upper` is 0.
struct Trilu {
  static constexpr OpInfo info{
      .name = "Trilu", .inputs = "x:T, k?:i64!", .outputs = "y:T", .precision = clear};
  std::int64_t upper = 1;
  static void attributes(auto& self, auto&& visit) { visit("upper", self.upper); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
