// SPDX-License-Identifier: Apache-2.0
// RMSprop as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Hinton, "Neural networks for machine learning", lecture 6e, 2012, as PyTorch has it, with g =
// gradient * multiplier + weight_decay * weight: s = alpha * s + (1 - alpha) * g^2, and if centered
// (Graves, 2013) m = alpha * m + (1 - alpha) * g; change = g / (sqrt(s - m^2) + epsilon), with m =
// 0 if not centered; weight -= learning_rate * v, where v = momentum * v + change, or without
// momentum change. `maximize` goes along the gradient, not against it.
struct RmspropUpdate {
  static constexpr OpInfo info{
      .name = "RmspropUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, square_average:M~, gradient_average?:M~, velocity?:M~, "
          "learning_rate:S, multiplier:S, applied:bool, compensation?:W~, random_key?:i64",
      .outputs =
          "next_weight:W~, next_square_average:M~, next_gradient_average?:M~, next_velocity?:M~, "
          "narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double alpha = 0.99, epsilon = 1e-8, momentum = 0;
  bool centered = false;
  double weight_decay = 0;
  bool maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("epsilon", self.epsilon);
    visit("momentum", self.momentum);
    visit("centered", self.centered);
    visit("weight_decay", self.weight_decay);
    visit("maximize", self.maximize);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  std::vector<std::string_view> moments() const;
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
