// SPDX-License-Identifier: Apache-2.0
// Layer normalization with the sum before it, and its gradient with sums before and dropout behind,
// as one node each, where a kernel takes it.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph fuse_layer_norm(const Graph& graph);

}  // namespace narrowgauge
