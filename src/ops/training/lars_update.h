// SPDX-License-Identifier: Apache-2.0
// LARS as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// You, Gitman, Ginsburg, "Large batch training of convolutional networks", 2017, as timm has it:
// SgdUpdate with g = ratio * (gradient * multiplier + weight_decay * weight), where ratio =
// trust_coefficient * |weight| / (|gradient| + weight_decay * |weight| + epsilon), by the norms
// over the whole weight and its true gradient. It is 1 where one of these is 0; with `trust_clip`
// it is min(ratio / learning_rate, 1); without weight decay it is 1, unless `always_adapt`.
struct LarsUpdate {
  static constexpr OpInfo info{
      .name = "LarsUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, velocity?:M~, learning_rate:S, multiplier:S, applied:bool, "
          "applied_steps?:i64, compensation?:W~, random_key?:i64",
      .outputs = "next_weight:W~, next_velocity?:M~, narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double momentum = 0;
  bool nesterov = false;
  double dampening = 0, weight_decay = 0, trust_coefficient = 1e-3, epsilon = 1e-8;
  bool trust_clip = false, always_adapt = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("dampening", self.dampening);
    visit("weight_decay", self.weight_decay);
    visit("trust_coefficient", self.trust_coefficient);
    visit("epsilon", self.epsilon);
    visit("trust_clip", self.trust_clip);
    visit("always_adapt", self.always_adapt);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  std::vector<std::string_view> moments() const;
  TensorTypes infer(const Inference& in) const;
  // What the gradient is multiplied with, from the norms of the weight and of the true gradient.
  double trust_ratio(double weight_norm, double gradient_norm, double learning_rate) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
