// SPDX-License-Identifier: Apache-2.0
// Normalization of the channels of one example at a time: ONNX's GroupNormalization (Wu, He, "Group
// normalization", 2018) and InstanceNormalization (Ulyanov et al., 2016). Statistics are computed
// in f32 (f64 for f64) whatever T is.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, C, ...], scale and bias [C] -> y like x: the channels of each example in num_groups groups;
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance (biased) of the
// group.
struct GroupNormalization {
  static constexpr OpInfo info{.name = "GroupNormalization",
                               .inputs = "x:T~, scale:T~, bias:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  double epsilon = 1e-5;
  std::int64_t num_groups = 1;
  std::int64_t stash_type = 1;  // ONNX's number of the dtype of statistics: f32

  static void attributes(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon);
    visit("num_groups", self.num_groups);
    visit("stash_type", self.stash_type);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// The same with each channel a group of its own.
struct InstanceNormalization {
  static constexpr OpInfo info{.name = "InstanceNormalization",
                               .inputs = "x:T~, scale:T~, bias:T~",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  double epsilon = 1e-5;

  static void attributes(auto& self, auto&& visit) { visit("epsilon", self.epsilon); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
