// SPDX-License-Identifier: Apache-2.0
// LAMB as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020, as
// timm has it. With m and v the moments of AdamUpdate at step t without weight decay: u = m / (1 -
// beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * weight; weight -= learning_rate *
// |weight| / |u| * u. The ratio of the two norms over the whole weight is 1 where one of them is 0,
// and at most 1 with `trust_clip`; without weight decay it is 1, unless `always_adapt`.
struct LambUpdate {
  static constexpr OpInfo info{
      .name = "LambUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:M~, second_moment:M~, learning_rate:S, "
          "multiplier:S, applied:bool, applied_steps:i64, compensation?:W~, random_key?:i64",
      .outputs =
          "next_weight:W~, next_first_moment:M~, next_second_moment:M~, narrow_weight?:any~, "
          "next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0;
  bool trust_clip = false, always_adapt = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("trust_clip", self.trust_clip);
    visit("always_adapt", self.always_adapt);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  static std::vector<std::string_view> moments() { return {"first_moment", "second_moment"}; }
  TensorTypes infer(const Inference& in) const;
  // What the update is multiplied with, from the norms of the weight and of the update.
  double trust_ratio(double weight_norm, double update_norm) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
