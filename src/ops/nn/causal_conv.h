// SPDX-License-Identifier: Apache-2.0
// ONNX 27's CausalConvWithState: a convolution over time that carries its past along.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, C, T], w [C, 1, k], b [C], past_state [N, C, k - 1] (zeros, if absent) -> y [N, C, T], each
// channel convolved with its own kernel over the past and x; present_state [N, C, k - 1] are the
// last elements of both. `activation`: none, or silu, also called swish.
struct CausalConvWithState {
  static constexpr OpInfo info{.name = "CausalConvWithState",
                               .inputs = "x:T~, w:T~, b?:T~, past_state?:T~",
                               .outputs = "y:T~, present_state?:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string activation = "none";

  static void attributes(auto& self, auto&& visit) { visit("activation", self.activation); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
