// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer adamw(double learning_rate, double weight_decay) {
  return {.rule = AdamUpdate{.weight_decay = weight_decay, .decoupled = true},
          .learning_rate = learning_rate};
}

namespace {
Optimizer usual_adamw() { return adamw(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(adamw, "adamw", "adam with decoupled weight decay", usual_adamw)
