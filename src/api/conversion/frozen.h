// SPDX-License-Identifier: Apache-2.0
// Networks without states, as conversion makes, calibrates and measures them.
#pragma once

#include <memory>
#include <vector>

#include "api/programs/program.h"
#include "narrowgauge/model.h"
#include "runtime/state_store.h"

namespace narrowgauge {

// What a model predicts, in f32: weights are constants, normalizations are in convolutions, and
// what constants alone decide is computed. One that is quantized already stays as it is, but for
// weights that become bytes.
Graph frozen_graph(const Model& model);

// A network that builds a graph without states.
BuildNetwork network_of(Graph graph);

// Runs a frozen graph for inputs in its order.
class FrozenNetwork {
 public:
  // `deterministic`: by the first kernel that takes a node, so that results depend on the inputs
  // and the target alone.
  FrozenNetwork(const Graph& graph, bool deterministic);
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  Program::Lease executor_for(std::span<const Tensor> inputs);  // which the network outlives

 private:
  StateStore store_;
  Program program_;
};

}  // namespace narrowgauge
