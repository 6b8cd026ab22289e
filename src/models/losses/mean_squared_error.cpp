// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge {

Loss mean_squared_error() {
  return [](Network& network, Value prediction) {
    const Value labels = labels_like(network, prediction);
    const Value difference = network.apply(Sub{}, {prediction, labels}, "difference");
    return mean_of_all(network, network.apply(Mul{}, {difference, difference}, "square"));
  };
}

namespace {
Loss make_mean_squared_error(LossArguments&) { return mean_squared_error(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(mean_squared_error, "mean_squared_error", "squared differences (L2)",
        make_mean_squared_error)
