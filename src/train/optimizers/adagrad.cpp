// SPDX-License-Identifier: Apache-2.0
#include "ops/training/adagrad_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer adagrad(double learning_rate) {
  return {.rule = AdagradUpdate{}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_adagrad() { return adagrad(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(adagrad, "adagrad", "steps over the root of summed squares of gradients",
             usual_adagrad)
