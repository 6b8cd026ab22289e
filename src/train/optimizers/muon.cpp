// SPDX-License-Identifier: Apache-2.0
#include "ops/training/muon_update.h"
#include "train/optimizers/table.h"

namespace narrowgauge {

Optimizer muon(double learning_rate, double weight_decay) {
  return {.rule = MuonUpdate{.weight_decay = weight_decay}, .learning_rate = learning_rate};
}

namespace {
Optimizer usual_muon() { return muon(); }
}  // namespace

}  // namespace narrowgauge

NG_OPTIMIZER(muon, "muon", "orthogonal steps for matrices, adamw for the rest", usual_muon)
