// SPDX-License-Identifier: Apache-2.0
// BatchNormalization as training has it, put back where a model file has its form for inference.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Constant means and variances of BatchNormalization become statistics of their names. In training
// the nodes normalize by the batch and keep running averages with their own momentum; without
// training those are what they normalize by, and what is read as the next ones. What is computed
// from weights alone has no batch: its normalizations stay as they are.
Graph with_batch_statistics(const Graph& graph, bool training);

}  // namespace narrowgauge
