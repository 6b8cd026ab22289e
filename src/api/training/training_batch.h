// SPDX-License-Identifier: Apache-2.0
// Batches as graphs that train and evaluate take them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// The tensors of a batch for the inputs of a graph, that of a whole step. Whole numbers of any
// format become those of an input of i64: labels of classes are kept as bytes by some, as i32 by
// others.
class TrainingBatch {
 public:
  // Throws UsageError, beginning with `who`, for another number of tensors, for a batch of no
  // samples, over which no loss has a mean, and for a number beyond i64. The tensors that are given
  // must live longer.
  TrainingBatch(std::string_view who, const Graph& graph, std::span<const Tensor> given);
  std::span<const Tensor> inputs() const { return converted_.empty() ? given_ : converted_; }

 private:
  std::span<const Tensor> given_;
  std::vector<Tensor> converted_;  // none where all stay as they are
};

// The types that TrainingBatch makes of these.
TensorTypes training_types(const Graph& graph, TensorTypes types);

}  // namespace narrowgauge
