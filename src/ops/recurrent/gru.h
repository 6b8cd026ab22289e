// SPDX-License-Identifier: Apache-2.0
// ONNX 22's gated recurrent unit (Cho et al., 2014).
#pragma once

#include "ops/recurrent/recurrence.h"

namespace narrowgauge {

// As RNN, with gates z (update), r (reset) and h (hidden) one after the other in w, r and b: z =
// f(wz x + rz h + bz), r alike, n = g(wh x + rh (r * h) + bh), h' = (1 - z) * n + z * h; with
// linear_before_reset n = g(wh x + bwh + r * (rh h + brh)). f is sigmoid and g tanh by default.
struct GRU {
  static constexpr OpInfo info{
      .name = "GRU",
      .inputs = "x:T~, w:T~, r:T~, b?:T~, sequence_lens?:i32~!, initial_h?:T~",
      .outputs = "y?:T~, y_h?:T~",
      .types = "T:float",
      .precision = allow,
      .fusion = Fusion::contraction};
  static constexpr std::int64_t gates = 3, states = 1;
  static constexpr std::string_view activations_by_default = "Sigmoid,Tanh";
  Tensor activation_alpha{}, activation_beta{};  // lists of numbers
  std::string activations{};  // separated by commas, for each direction; "": the default
  double clip = 0;            // of what goes into activations; 0: none
  std::string direction = "forward";
  std::int64_t hidden_size = 0;  // 0: as r has it
  std::int64_t linear_before_reset = 0;
  std::int64_t layout = 0;  // 1: x and y are [N, T, ...], states [N, directions, H]

  static void attributes(auto& self, auto&& visit) {
    visit_recurrent(self, visit);
    visit("linear_before_reset", self.linear_before_reset);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
