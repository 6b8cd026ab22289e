// SPDX-License-Identifier: Apache-2.0
// Binary cross entropy of logits, elementwise, in a form that does not overflow.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

// -(target * log(sigmoid(x)) + (1 - target) * log(1 - sigmoid(x)))
struct SigmoidCrossEntropy {
  static constexpr OpInfo info{.name = "SigmoidCrossEntropy",
                               .domain = "ng",
                               .inputs = "logits:T, targets:T",
                               .outputs = "loss:T",
                               .types = "T:float",
                               .precision = deny,
                               .fusion = Fusion::elementwise};
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(SigmoidCrossEntropy, (T x, T target),
             (select(x > T(0), x, T(0)) - x * target) + log1p(exp(-abs(x))))
  Values gradient(Gradient& g) const;
};

// The gradient of the logits: (sigmoid(x) - target) * dy.
struct SigmoidCrossEntropyGradient {
  static constexpr OpInfo info{.name = "SigmoidCrossEntropyGradient",
                               .domain = "ng",
                               .inputs = "logits:T, targets:T, dy:T",
                               .outputs = "dlogits:T",
                               .types = "T:float",
                               .precision = deny,
                               .fusion = Fusion::elementwise};
  NG_NO_ATTRIBUTES
  NG_SAME_SHAPE
  NG_FORMULA(SigmoidCrossEntropyGradient, (T x, T target, T dy), (sigmoid(x) - target) * dy)
  Values decompose(Rewriting& r) const;
};

}  // namespace narrowgauge
