// SPDX-License-Identifier: Apache-2.0
// What a Trainer holds.
#pragma once

#include "api/model_implementation.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

struct Trainer::Implementation {
  Model::Implementation* model = nullptr;
  Loss loss;
  Optimizer optimizer;
  TrainerOptions options;

  Graph training_graph;  // f32
  PrecisionPlan plan;
  std::unique_ptr<Program> training, evaluation;
  std::uint64_t steps = 0;  // run so far, skipped ones included
  BatchPosition position;   // of the next batch of fit()
  int bad_losses = 0;       // in a row
  bool profile = false;

  Program& evaluation_program();
  Executor* executor() const { return training ? training->latest() : nullptr; }
};

}  // namespace narrowgauge
