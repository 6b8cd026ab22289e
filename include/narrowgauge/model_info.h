// SPDX-License-Identifier: Apache-2.0
// What a network costs, known before anything runs: parameters and multiply-adds of each layer, and
// the memory for training it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/precision.h"

namespace narrowgauge {

// One node of a network.
struct LayerInfo {
  std::string name, op, output;  // output: type of the first output, "f32[N,16,32,32]"
  std::int64_t parameters = 0;   // trained values that it reads itself
  double macs = 0;               // multiply-adds for one sample; contractions only
};

// The nodes of a network and their sums.
struct ModelInfo {
  std::vector<LayerInfo> layers;                // in order; without inputs, states and constants
  std::int64_t parameters = 0, statistics = 0;  // values
  double macs = 0;                              // multiply-adds of all layers for one sample
};
// What a network consists of and costs; `sample` gives the symbols of its shapes the sizes that
// multiply-adds are counted for.
NG_API ModelInfo model_info(const Graph& graph, const Binding& sample = {{"N", 1}});

// The memory of a training step, without the batch that it is given.
struct TrainingMemory {
  std::int64_t states = 0;       // bytes of weights, moments and the like, narrow copies too
  std::int64_t activations = 0;  // most bytes of values alive at once
  std::int64_t arena = 0;        // with workspaces and alignment
  std::int64_t total() const { return states + arena; }  // bytes in all
};
// The memory of a training step with this batch, found by compiling it.
NG_API TrainingMemory training_memory(const Graph& graph, const PrecisionPlan& precision,
                                      std::int64_t batch);

// The largest batch with which training takes no more than `bytes`, including the batch itself; 0
// if not even one sample fits. Exact to within a hundredth, because memory grows almost in
// proportion to the batch. Compiles a few times.
NG_API std::int64_t largest_batch(const Graph& graph, const PrecisionPlan& precision,
                                  std::int64_t bytes);

// Bytes of the tensors that a step is given: the network's inputs and the loss's.
NG_API std::int64_t batch_bytes(const Graph& graph, std::int64_t batch);

}  // namespace narrowgauge
