// SPDX-License-Identifier: Apache-2.0
#include "ops/training/rmsprop_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {
namespace {

Optimizer usual() { return {.rule = RmspropUpdate{}, .learning_rate = 1e-2}; }

}  // namespace
}  // namespace narrowgauge

NG_OPTIMIZER(rmsprop, "rmsprop", "steps over the root of mean squares of gradients", usual)
