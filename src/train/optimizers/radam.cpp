// SPDX-License-Identifier: Apache-2.0
#include "ops/training/radam_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer radam(double learning_rate) {
  return {.rule = RadamUpdate{}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_radam() { return radam(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(radam, "radam", "adam whose first steps are rectified", usual_radam)
