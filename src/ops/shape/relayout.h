// SPDX-License-Identifier: Apache-2.0
// Gives a logical value another storage. Only the layout pass adds it.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The new storage is that of its output.
struct Relayout {
  static constexpr OpInfo info{.name = "Relayout",
                               .domain = "ng",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .precision = clear,
                               .stage = Stage::laid_out};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
