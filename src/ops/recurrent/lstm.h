// SPDX-License-Identifier: Apache-2.0
// ONNX 22's long short-term memory (Hochreiter, Schmidhuber, 1997), with peepholes (Gers et al.,
// 2002).
#pragma once

#include "ops/recurrent/recurrence.h"

namespace narrowgauge {

// As RNN, with gates i (input), o (output), f (forget) and c (cell) one after the other in w, r and
// b: c' = f * c + i * g(wc x + rc h + bc) and h' = o * h(c'), with i = f(wi x + ri h + pi * c +
// bi), f alike, o = f(wo x + ro h + po * c' + bo); peepholes p [directions, 3 H] stand as i, o, f.
// input_forget couples f = 1 - i. Activations f, g, h are sigmoid, tanh, tanh by default.
struct LSTM {
  static constexpr OpInfo info{
      .name = "LSTM",
      .inputs =
          "x:T~, w:T~, r:T~, b?:T~, sequence_lens?:i32~!, initial_h?:T~, initial_c?:T~, p?:T~",
      .outputs = "y?:T~, y_h?:T~, y_c?:T~",
      .types = "T:float",
      .precision = allow,
      .fusion = Fusion::contraction};
  static constexpr std::int64_t gates = 4, states = 2;
  static constexpr std::string_view activations_by_default = "Sigmoid,Tanh,Tanh";
  Tensor activation_alpha{}, activation_beta{};  // lists of numbers
  std::string activations{};  // separated by commas, for each direction; "": the default
  double clip = 0;            // of what goes into activations; 0: none
  std::string direction = "forward";
  std::int64_t hidden_size = 0;  // 0: as r has it
  std::int64_t input_forget = 0;
  std::int64_t layout = 0;  // 1: x and y are [N, T, ...], states [N, directions, H]

  static void attributes(auto& self, auto&& visit) {
    visit_recurrent(self, visit);
    visit("input_forget", self.input_forget);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
