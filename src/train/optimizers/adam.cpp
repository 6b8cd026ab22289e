// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer adam(double learning_rate) {
  return {.rule = AdamUpdate{}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_adam() { return adam(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(adam, "adam", "steps along moments of gradients, adaptively", usual_adam)
