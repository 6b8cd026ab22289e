// SPDX-License-Identifier: Apache-2.0
// Joins a BatchNormalization with the convolution before it and with an Add and a Relu after it,
// and its gradient with the convolution's, the Add's and the Relu's gradients before it. Statistics
// and sums are then made where values are stored, and what is normalized is written once. What is
// normalized again joins the weight gradient or the Relu's gradient that reads it.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_normalization(const Graph& graph);

}  // namespace narrowgauge
