// SPDX-License-Identifier: Apache-2.0
// Lion as a fused weight update; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Chen et al., "Symbolic discovery of optimization algorithms", 2023, with g = gradient *
// multiplier: weight = (1 - learning_rate * weight_decay) * weight - learning_rate * sign(beta1 * m
// + (1 - beta1) * g); m = beta2 * m + (1 - beta2) * g. `maximize` goes along the gradient, not
// against it.
struct LionUpdate {
  static constexpr OpInfo info{
      .name = "LionUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:M~, learning_rate:S, multiplier:S, applied:bool, "
          "compensation?:W~, random_key?:i64",
      .outputs = "next_weight:W~, next_first_moment:M~, narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  bool maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("weight_decay", self.weight_decay);
    visit("maximize", self.maximize);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  static std::vector<std::string_view> moments() { return {"first_moment"}; }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
