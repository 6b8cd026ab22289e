// SPDX-License-Identifier: Apache-2.0
// Joins a convolution with the Relu after it; and a Relu's gradient with the preceding gradient of
// a convolution and Add, and with the following sums that are the gradient of a bias.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_activation(const Graph& graph, const Target& target);

}  // namespace narrowgauge
