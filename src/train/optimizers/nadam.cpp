// SPDX-License-Identifier: Apache-2.0
#include "ops/training/nadam_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer nadam(double learning_rate) {
  return {.rule = NadamUpdate{}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_nadam() { return nadam(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(nadam, "nadam", "adam with nesterov momentum", usual_nadam)
