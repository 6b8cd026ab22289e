// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer sgd(double learning_rate, double momentum, bool nesterov) {
  return {.rule = SgdUpdate{.momentum = momentum, .nesterov = nesterov},
          .learning_rate = learning_rate};
}

namespace {
Optimizer usual_sgd() { return sgd(0.05); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(sgd, "sgd", "gradient descent with momentum", usual_sgd)
