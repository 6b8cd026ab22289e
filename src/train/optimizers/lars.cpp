// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lars_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer lars(double learning_rate, double momentum, double weight_decay) {
  return {.rule = LarsUpdate{.momentum = momentum, .weight_decay = weight_decay},
          .learning_rate = learning_rate};
}

namespace {
Optimizer usual_lars() { return lars(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(lars, "lars", "momentum with a rate for each weight by its size", usual_lars)
