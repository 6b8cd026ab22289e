// SPDX-License-Identifier: Apache-2.0
// Weight updates, fused into one pass over memory: they read the gradient as it comes (scaled, in
// any float format), the weight and its moments, overwrite these, and write a narrow copy of the
// weight. The weight is f32, or f16 or bf16 without a master (update_op.h).
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// `multiplier` turns the gradient into the true one: 1 / loss scale, times the clipping factor.
// While `applied` is false, weight and moments keep their values. `narrow_weight` is next_weight in
// the dtype `narrow`.

// g = gradient * multiplier + weight_decay * weight; v = momentum * velocity + (1 - dampening) * g,
// in the first step momentum * velocity + g; weight -= learning_rate * (nesterov ? g + momentum * v
// : v), as PyTorch's SGD. Without a velocity v is g, and next_velocity is 0. `maximize` goes along
// the gradient, not against it. Only with dampening does applied_steps, the count of the steps
// applied before this one, matter.
struct SgdUpdate {
  static constexpr OpInfo info{
      .name = "SgdUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, velocity?:M~, learning_rate:S, multiplier:S, applied:bool, "
          "applied_steps?:i64, compensation?:W~, random_key?:i64",
      .outputs = "next_weight:W~, next_velocity?:M~, narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double momentum = 0;
  bool nesterov = false;
  double dampening = 0, weight_decay = 0;
  bool maximize = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("dampening", self.dampening);
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

// Kingma, Ba, "Adam", 2015; with `decoupled` Loshchilov, Hutter, "Decoupled weight decay
// regularization", 2019 (AdamW). Epsilon is added after bias correction, as in PyTorch.
// applied_steps counts the steps applied before this one. With `amsgrad` the largest second moment
// so far takes the place of the second moment (Reddi, Kale, Kumar, "On the convergence of Adam and
// beyond", 2018). `maximize` goes along the gradient, not against it.
struct AdamUpdate {
  static constexpr OpInfo info{
      .name = "AdamUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:M~, second_moment:M~, largest_second_moment?:M~, "
          "learning_rate:S, multiplier:S, applied:bool, applied_steps:i64, compensation?:W~, "
          "random_key?:i64",
      .outputs =
          "next_weight:W~, next_first_moment:M~, next_second_moment:M~, "
          "next_largest_second_moment?:M~, narrow_weight?:any~, next_compensation?:W~",
      .types = "W:float, M:wide, G:float, S:wide",
      .stage = Stage::trained};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
  bool decoupled = false;
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("amsgrad", self.amsgrad);
    visit("maximize", self.maximize);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("decoupled", self.decoupled);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  std::vector<std::string_view> moments() const;
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
