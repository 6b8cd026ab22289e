// SPDX-License-Identifier: Apache-2.0
// Adagrad as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
// optimization", 2011, as PyTorch has it, with g = gradient * multiplier + weight_decay * weight
// and t steps applied before this one: s = s + g^2; weight -= learning_rate / (1 + t * rate_decay)
// * g / (sqrt(initial_sum + s) + epsilon). `maximize` goes along the gradient, not against it.
struct AdagradUpdate {
  static constexpr OpInfo info{
      .name = "AdagradUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, square_sum:M~, learning_rate:S, multiplier:S, applied:bool, "
          "applied_steps:i64, compensation?:W~, random_key?:i64",
      .outputs = "next_weight:W~, next_square_sum:M~, narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double rate_decay = 0, initial_sum = 0, epsilon = 1e-10, weight_decay = 0;
  bool maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("rate_decay", self.rate_decay);
    visit("initial_sum", self.initial_sum);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("maximize", self.maximize);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  static std::vector<std::string_view> moments() { return {"square_sum"}; }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
