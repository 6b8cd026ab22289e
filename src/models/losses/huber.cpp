// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"

namespace narrowgauge {

namespace {

// The mean over the distances d of c (d - c / 2) factor, with c = min(d, delta).
Loss scaled_huber(double delta, double factor) {
  return [=](Network& network, Value prediction) {
    const Value labels = labels_like(network, prediction);
    Rewriting r = formulas(network);
    const Expression difference = Expression{r, prediction} - Expression{r, labels};
    const Expression distance = difference.apply(Abs{});
    const Expression cut = distance.apply(Min{}, distance.number(delta));
    return mean_of_all(network, cut * (distance - cut * 0.5) * factor);
  };
}

}  // namespace

Loss huber(double delta) {
  require_positive("huber", "delta", delta);
  return scaled_huber(delta, 1);
}

Loss smooth_l1(double beta) {
  require_positive("smooth_l1", "beta", beta);
  return scaled_huber(beta, 1 / beta);
}

namespace {
Loss make_huber(LossArguments& arguments) { return huber(arguments.number("delta", 1)); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(huber, "huber", "squared small and absolute large differences", make_huber)
