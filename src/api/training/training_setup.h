// SPDX-License-Identifier: Apache-2.0
// How a network is trained, settled before there are any weights.
#pragma once

#include "narrowgauge/model.h"

namespace narrowgauge {

// The network with its loss in f32; evaluation also puts out the prediction.
Graph loss_graph(const std::string& name, const BuildNetwork& build, const Loss& loss, Mode mode);

struct TrainingSetup {
  Optimizer optimizer;  // settled: its format by environment or plan, its loss scale by the format
  TrainerOptions options;
  Graph graph;  // of a step, in f32
  PrecisionPlan plan;
  // The graph that is computed: by the plan, or in f64 where that is asked for. A batch in parts
  // has a graph for their gradients and another for the update.
  Graph computed;
  std::optional<Graph> update{};
};

// Puts what it stands for in the place of an `automatic` loss scale: dynamic where the policy, or
// an autocast scope of the network, is for f16.
void settle_loss_scale(Optimizer& optimizer, const Graph& forward);

// Throws as Trainer's constructor does. May measure which format is fastest.
TrainingSetup set_up_training(const std::string& name, const BuildNetwork& build, const Loss& loss,
                              Optimizer optimizer, TrainerOptions options);

}  // namespace narrowgauge
