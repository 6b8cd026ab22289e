// SPDX-License-Identifier: Apache-2.0
// Joins a Gemm with the Gelu after it; and a GeluGradient with the Gemm that computes its input and
// with the following sums that are the gradient of a bias.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_gelu(const Graph& graph, const Target& target);

}  // namespace narrowgauge
