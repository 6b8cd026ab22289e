// SPDX-License-Identifier: Apache-2.0
// NAdam as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Dozat, "Incorporating Nesterov momentum into Adam", 2016, as PyTorch has it. With m and v the
// moments of AdamUpdate at step t, v' = v / (1 - beta2^t), mu(t) = beta1 * (1 - 0.96^(t *
// momentum_decay) / 2) and p(t) = mu(1) mu(2) ... mu(t): weight -= learning_rate / (sqrt(v') +
// epsilon) * ((1 - mu(t)) / (1 - p(t)) * g + mu(t + 1) / (1 - p(t + 1)) * m). With `decoupled` the
// weight decays by itself, as AdamW's. `maximize` goes along the gradient, not against it.
struct NadamUpdate {
  static constexpr OpInfo info{
      .name = "NadamUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:M~, second_moment:M~, learning_rate:S, "
          "multiplier:S, applied:bool, applied_steps:i64, compensation?:W~, random_key?:i64",
      .outputs =
          "next_weight:W~, next_first_moment:M~, next_second_moment:M~, narrow_weight?:any~, "
          "next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled = false, maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("momentum_decay", self.momentum_decay);
    visit("decoupled", self.decoupled);
    visit("maximize", self.maximize);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  static std::vector<std::string_view> moments() { return {"first_moment", "second_moment"}; }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
