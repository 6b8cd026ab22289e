// SPDX-License-Identifier: Apache-2.0
// ONNX 23's RMS normalization: Zhang, Sennrich, "Root mean square layer normalization", 2019.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y = x / sqrt(mean(x^2) + epsilon) * scale, the mean over the axes from `axis` on, in f32 (f64 for
// f64). The quotient is rounded to x's dtype; y has the dtype of scale, which broadcasts to x.
struct RMSNormalization {
  static constexpr OpInfo info{.name = "RMSNormalization",
                               .inputs = "x:T~, scale:V~",
                               .outputs = "y:V~",
                               .types = "T:float, V:float",
                               .precision = narrowgauge::infer};
  std::int64_t axis = -1;
  double epsilon = 1e-5;
  std::int64_t stash_type = 1;  // ONNX's number of the dtype of the mean: f32

  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("epsilon", self.epsilon);
    visit("stash_type", self.stash_type);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
