// SPDX-License-Identifier: Apache-2.0
// Joins a Gemm with the Gelu behind it; and a GeluGradient with the Gemm that makes what it reads,
// and with the sums behind it that are the gradient of a bias.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; the largest groups that kernels take.
Graph fuse_gelu(const Graph& graph);

}  // namespace narrowgauge
