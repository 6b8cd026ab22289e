// SPDX-License-Identifier: Apache-2.0
// The rounding of a weight that is kept in f16 or bf16, for update rules that take weights in f32
// alone; the others round by themselves (update_op.h).
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// next_weight is `exact` in the format of the weight: to nearest, with a random_key (RandomKey)
// stochastically, with a compensation as cpu::UpdateCommon says. `exact` is what a rule made of
// weight + compensation. While `applied` is false, weight and compensation keep their values.
struct RoundWeight {
  static constexpr OpInfo info{
      .name = "RoundWeight",
      .domain = "ng",
      .inputs = "weight:W~, exact:f32~, applied:bool, compensation?:W~, random_key?:i64",
      .outputs = "next_weight:W~, next_compensation?:W~",
      .types = "W:float",
      .stage = Stage::trained};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
