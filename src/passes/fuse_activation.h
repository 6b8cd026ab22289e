// SPDX-License-Identifier: Apache-2.0
// Joins a convolution with the Relu behind it; and the gradient of a Relu with the convolution's
// and the Add's before it, and with the sums behind it that are the gradient of a bias.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_activation(const Graph& graph);

}  // namespace narrowgauge
