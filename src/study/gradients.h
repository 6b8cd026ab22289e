// SPDX-License-Identifier: Apache-2.0
// The gradients of a batch as numbers to look at, without a training step.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "narrowgauge/checkpoint.h"
#include "narrowgauge/model.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge {

struct Gradients {
  double loss = 0;
  std::vector<NamedTensor> tensors;  // f32, one for each parameter, named after it
};

// Gradients of the loss in the training graph (batch statistics, dropout) at the model's weights,
// in f32. The batch holds the network's inputs, then the loss's. No state changes. Throws
// UsageError if the loss is no scalar or the tensors do not fit.
Gradients gradients_of(Model& model, const Loss& loss, std::span<const Tensor> batch);

// The loss scale of the next step of a run as it was saved; nothing where it has none.
std::optional<double> loss_scale_of(const Checkpoint& checkpoint);

}  // namespace narrowgauge
