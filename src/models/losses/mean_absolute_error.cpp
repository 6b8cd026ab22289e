// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge {

Loss mean_absolute_error() {
  return [](Network& network, Value prediction) {
    const Value labels = labels_like(network, prediction);
    const Value difference = network.apply(Sub{}, {prediction, labels}, "difference");
    return mean_of_all(network, network.apply(Abs{}, {difference}, "distance"));
  };
}

namespace {
Loss make_mean_absolute_error(LossArguments&) { return mean_absolute_error(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(mean_absolute_error, "mean_absolute_error", "absolute differences (L1)",
        make_mean_absolute_error)
