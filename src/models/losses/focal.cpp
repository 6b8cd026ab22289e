// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/activation/sigmoid.h"
#include "ops/loss/sigmoid_cross_entropy.h"

namespace narrowgauge {

Loss focal(double gamma, double alpha) {
  require(std::isfinite(gamma) && (gamma == 0 || gamma >= 1),
          "focal: expected gamma of 0, or of 1 or more, got ", gamma);
  require(alpha <= 1, "focal: expected alpha up to 1, got ", alpha);
  return [=](Network& network, Value logits) {
    Rewriting r = formulas(network);
    const Expression y(r, labels_like(network, logits)), x(r, logits);
    Expression each = x.apply(SigmoidCrossEntropy{}, y);
    const Expression p = x.apply(Sigmoid{});
    if (gamma != 0) {
      const Expression wrong = p + y - 2 * (p * y);  // 1 - p_t
      each = each * pow(wrong, wrong.number(gamma));
    }
    if (alpha >= 0) each = each * ((2 * alpha - 1) * y + (1 - alpha));
    return mean_of_all(network, each);
  };
}

namespace {
Loss make_focal(LossArguments& arguments) {
  const double gamma = arguments.number("gamma", 2);
  return focal(gamma, arguments.number("alpha", 0.25));
}
}  // namespace

}  // namespace narrowgauge

NG_LOSS(focal, "focal", "binary cross entropy that well classified examples count less in",
        make_focal)
