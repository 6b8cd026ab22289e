// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sigmoid_cross_entropy.h"

#include "ops/activation/sigmoid.h"
#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values SigmoidCrossEntropy::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  Values gradients(2);
  if (g.wants(0)) gradients[0] = g.add(SigmoidCrossEntropyGradient{}, {x, g.input(1), dy});
  if (g.wants(1)) gradients[1] = -(x * dy);
  return gradients;
}

Values SigmoidCrossEntropyGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), target(r, r.input(1)), dy(r, r.input(2));
  return {(x.apply(Sigmoid{}) - target) * dy};
}

}  // namespace narrowgauge

NG_OPS(sigmoid_cross_entropy, narrowgauge::SigmoidCrossEntropy,
       narrowgauge::SigmoidCrossEntropyGradient)
