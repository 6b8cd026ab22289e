// SPDX-License-Identifier: Apache-2.0
// Muon as a weight update made of products; weight_update.h says what updates have in common.
#pragma once

#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024, as PyTorch has
// it, in the weight's format. Of a matrix, with g = gradient * multiplier: m = momentum * m + (1 -
// momentum) * g; x = nesterov ? momentum * m + (1 - momentum) * g : m; five steps of Newton and
// Schulz bring x near the closest orthogonal matrix; weight = (1 - learning_rate * weight_decay) *
// weight - c * learning_rate * x. For a matrix of A rows and B columns c = 0.2 sqrt(max(A, B)), by
// which one rate and one weight decay serve for both kinds of weights (Liu et al., "Muon is
// scalable for LLM training", 2025); with `original_rate` c = sqrt(max(1, A / B)).
//
// A weight that is no matrix is updated by AdamW with the same learning rate and weight decay, and
// has a second moment; of a matrix next_second_moment is 0.
struct MuonUpdate {
  static constexpr OpInfo info{
      .name = "MuonUpdate",
      .domain = "ng",
      .inputs =
          "weight:W~, gradient:G~^, first_moment:W~, second_moment?:W~, learning_rate:S, "
          "multiplier:S, applied:bool, applied_steps:i64",
      .outputs =
          "next_weight:W~, next_first_moment:W~, next_second_moment?:W~, narrow_weight?:any~",
      .types = "W:wide, G:float, S:wide",
      .stage = Stage::trained};
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0;
  bool original_rate = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of AdamW
  DType narrow = DType::f32;

  static void hyperparameters(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("weight_decay", self.weight_decay);
    visit("original_rate", self.original_rate);
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
  }
  static void attributes(auto& self, auto&& visit) {
    hyperparameters(self, visit);
    visit("narrow", self.narrow);
  }
  void check(std::string_view who) const;
  static std::vector<std::string_view> moments() { return {"first_moment", "second_moment"}; }
  static std::vector<std::string_view> moments_of(const Shape& weight);
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
