// SPDX-License-Identifier: Apache-2.0
// ONNX 22's simple recurrent layer (Elman, 1990).
#pragma once

#include "ops/recurrent/recurrence.h"

namespace narrowgauge {

// x [T, N, input], w [directions, H, input], r [directions, H, H], b [directions, 2 H] (of w, then
// of r) -> y [T, directions, N, H] and the last h [directions, N, H]: h' = f(w x + r h + b), f tanh
// by default. Beyond the length of a sequence y is 0 and h stays.
struct RNN {
  static constexpr OpInfo info{
      .name = "RNN",
      .inputs = "x:T~, w:T~, r:T~, b?:T~, sequence_lens?:i32~!, initial_h?:T~",
      .outputs = "y?:T~, y_h?:T~",
      .types = "T:float",
      .precision = allow,
      .fusion = Fusion::contraction};
  static constexpr std::int64_t gates = 1, states = 1;
  static constexpr std::string_view activations_by_default = "Tanh";
  Tensor activation_alpha{}, activation_beta{};  // lists of numbers
  std::string activations{};  // separated by commas, for each direction; "": the default
  double clip = 0;            // of what goes into activations; 0: none
  std::string direction = "forward";
  std::int64_t hidden_size = 0;  // 0: as r has it
  std::int64_t layout = 0;       // 1: x and y are [N, T, ...], states [N, directions, H]

  static void attributes(auto& self, auto&& visit) { visit_recurrent(self, visit); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
