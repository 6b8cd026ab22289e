// SPDX-License-Identifier: Apache-2.0
// ONNX 13's SoftmaxCrossEntropyLoss, and its gradient.
#pragma once

#include <limits>
#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// No label equals this: none is ignored.
inline constexpr std::int64_t no_ignored_label = std::numeric_limits<std::int64_t>::min();

// The attributes of losses of labels.
void visit_label_loss(auto& self, auto&& visit) {
  visit("ignore_index", self.ignore_index);
  visit("reduction", self.reduction);
}

// scores [N, C, d...], labels [N, d...] (classes from 0), weights [C]: loss = -weights[label] *
// log_softmax(scores)[label], 0 where the label is ignore_index. reduction "none" gives the losses;
// "sum" their sum; "mean" the sum divided by the sum of the weights (1 if there are none) over
// labels that are not ignored. The kernels throw DataError for a label that is not a class.
struct SoftmaxCrossEntropyLoss {
  static constexpr OpInfo info{.name = "SoftmaxCrossEntropyLoss",
                               .inputs = "scores:T, labels:I~!, weights?:T~!",
                               .outputs = "output:T~, log_prob?:T",
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

// dy (in the loss's shape) -> dscores = (softmax(scores) - one_hot(label)) * weight * dy / divisor.
struct SoftmaxCrossEntropyLossGradient {
  static constexpr OpInfo info{.name = "SoftmaxCrossEntropyLossGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, scores:T, labels:I~!, weights?:T~!",
                               .outputs = "dscores:T",
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

}  // namespace narrowgauge
