// SPDX-License-Identifier: Apache-2.0
// Repeats a tensor along its axes.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x repeated `repeats` times (constant, one number for each axis) along each axis.
struct Tile {
  static constexpr OpInfo info{
      .name = "Tile", .inputs = "x:T, repeats:i64!", .outputs = "y:T", .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
