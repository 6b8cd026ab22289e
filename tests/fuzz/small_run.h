// SPDX-License-Identifier: Apache-2.0
// A network of one layer that trains in f16, and a checkpoint that is the same in every process.
#pragma once

#include "narrowgauge/checkpoint.h"
#include "narrowgauge/model.h"

namespace narrowgauge::fuzz {

inline Model small_model() {
  return Model("small", [](Network& net) {
    return net.linear(net.input("x", {net.batch(), 3}), 2);
  });
}

inline Trainer small_trainer(Model& model) {
  Optimizer optimizer = sgd(0.1, 0.9);
  enable_mixed_precision(optimizer);
  return Trainer(model, softmax_cross_entropy(), optimizer);
}

inline Checkpoint small_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.model.tensors = {{"w", Tensor(DType::f32, {2, 3})}};
  checkpoint.state.tensors = {{"w.moment", Tensor(DType::f32, {2, 3})}};
  checkpoint.state.metadata = {{"run", "fuzzed"}, {"steps", "7"}, {"epoch", "1"}};
  checkpoint.files = {{"plan.txt", "a plan\n"}};
  return checkpoint;
}

}  // namespace narrowgauge::fuzz
