// SPDX-License-Identifier: Apache-2.0
// RAdam as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Liu et al., "On the variance of the adaptive learning rate and beyond", 2020, as PyTorch has it.
// With m and v the moments of AdamUpdate at step t, m' = m / (1 - beta1^t), r0 = 2 / (1 - beta2) -
// 1 and r = r0 - 2 t beta2^t / (1 - beta2^t): weight -= learning_rate * m', times c * sqrt(1 -
// beta2^t) / (sqrt(v) + epsilon) where r > 5, with c^2 = (r - 4) (r - 2) r0 / ((r0 - 4) (r0 - 2)
// r). With `decoupled` the weight decays by itself, as AdamW's. `maximize` goes along the gradient,
// not against it.
struct RadamUpdate {
  static constexpr OpInfo info{
      .name = "RadamUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:M~, second_moment:M~, learning_rate:S, "
          "multiplier:S, applied:bool, applied_steps:i64, compensation?:W~, random_key?:i64",
      .outputs =
          "next_weight:W~, next_first_moment:M~, next_second_moment:M~, narrow_weight?:any~, "
          "next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false, maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
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
