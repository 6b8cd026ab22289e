// SPDX-License-Identifier: Apache-2.0
// ONNX 17's layer normalization and its gradient: Ba, Kiros, Hinton, "Layer normalization", 2016.
// Statistics are computed in f32 (f64 for f64) whatever T is.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias. Mean and variance (biased) are over the
// axes from `axis` on; scale and bias have the shape of these axes. mean and inverse_std keep them
// with size 1.
struct LayerNormalization {
  static constexpr OpInfo info{.name = "LayerNormalization",
                               .inputs = "x:T~, scale:S~, bias?:S~",
                               .outputs = "y:T~, mean?:V~, inverse_std?:V~",
                               .types = "T:float, S:float, V:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::reduction};
  std::int64_t axis = -1;
  double epsilon = 1e-5;
  std::int64_t stash_type = 1;  // ONNX's number of the dtype of statistics: f32

  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("epsilon", self.epsilon);
    visit("stash_type", self.stash_type);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// With n = (x - mean) * inverse_std and g = dy * scale: dx = inverse_std * (g - mean(g) - n *
// mean(g * n)), means over the normalized axes; dscale = sum(dy * n) and dbias = sum(dy), sums over
// the other axes.
struct LayerNormalizationGradient {
  static constexpr OpInfo info{.name = "LayerNormalizationGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, x:T~, scale:S~, mean:V~, inverse_std:V~",
                               .outputs = "dx:T~, dscale?:S~, dbias?:S~",
                               .types = "T:float, S:float, V:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::reduction};
  std::int64_t axis = -1;

  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
