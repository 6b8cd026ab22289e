// SPDX-License-Identifier: Apache-2.0
// ONNX 22's NegativeLogLikelihoodLoss, and its gradient.
#pragma once

#include <string>

#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge {

// As SoftmaxCrossEntropyLoss, of logarithms of probabilities [N, C, d...] instead of scores: loss =
// -weights[label] * x[label], 0 where the label is ignore_index.
struct NegativeLogLikelihoodLoss {
  static constexpr OpInfo info{.name = "NegativeLogLikelihoodLoss",
                               .inputs = "x:T~, labels:I~!, weights?:T~!",
                               .outputs = "loss:T~",
                               .types = "T:float, I:index",
                               .precision = deny,
                               .fusion = Fusion::reduction};
  std::int64_t ignore_index = no_ignored_label;
  std::string reduction = "mean";

  static void attributes(auto& self, auto&& visit) { visit_label_loss(self, visit); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy (in the loss's shape) -> dx of the given shape: -weight * dy / divisor at the label, else 0.
struct NegativeLogLikelihoodLossGradient {
  static constexpr OpInfo info{.name = "NegativeLogLikelihoodLossGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, labels:I~!, weights?:T~!",
                               .outputs = "dx:T~",
                               .types = "T:float, I:index",
                               .precision = deny,
                               .fusion = Fusion::reduction};
  std::int64_t ignore_index = no_ignored_label;
  std::string reduction = "mean";
  Shape shape{};  // of dx

  static void attributes(auto& self, auto&& visit) {
    visit_label_loss(self, visit);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
