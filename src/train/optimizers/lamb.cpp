// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lamb_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer lamb(double learning_rate, double weight_decay) {
  return {.rule = LambUpdate{.weight_decay = weight_decay}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_lamb() { return lamb(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(lamb, "lamb", "adam with a rate for each weight by its size", usual_lamb)
