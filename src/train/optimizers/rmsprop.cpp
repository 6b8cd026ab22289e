// SPDX-License-Identifier: Apache-2.0
#include "ops/training/rmsprop_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer rmsprop(double learning_rate) {
  return {.rule = RmspropUpdate{}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_rmsprop() { return rmsprop(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(rmsprop, "rmsprop", "steps over the root of mean squares of gradients", usual_rmsprop)
