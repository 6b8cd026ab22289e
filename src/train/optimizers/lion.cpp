// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lion_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer lion(double learning_rate, double weight_decay) {
  return {.rule = LionUpdate{.weight_decay = weight_decay}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_lion() { return lion(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(lion, "lion", "steps of equal size along signs of averaged gradients", usual_lion)
