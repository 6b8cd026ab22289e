// SPDX-License-Identifier: Apache-2.0
// Joins a BatchNormalization with the convolution before it and with an Add and a Relu after it,
// and its gradient with the preceding gradients of the convolution, Add and Relu. Statistics and
// sums are then computed while values are stored, and normalized values are written once. A
// NormalizeAgain joins the weight gradient or the Relu's gradient that reads it.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_normalization(const Graph& graph, const Target& target);

}  // namespace narrowgauge
