// SPDX-License-Identifier: Apache-2.0
// How a network is trained, settled before there are any weights.
#pragma once

#include "narrowgauge/model.h"

namespace narrowgauge {

// The network with its loss in f32; evaluation also puts out the prediction.
Graph loss_graph(const std::string& name, const BuildNetwork& build, const Loss& loss, Mode mode);

struct TrainingSetup {
  Optimizer optimizer;  // with the mixed precision that the environment or the plan asks for
  TrainerOptions options;
  Graph graph;  // of a step, in f32
  PrecisionPlan plan;
};

// Throws as Trainer's constructor does. May measure which format is fastest.
TrainingSetup set_up_training(const std::string& name, const BuildNetwork& build, const Loss& loss,
                              Optimizer optimizer, TrainerOptions options);

}  // namespace narrowgauge
