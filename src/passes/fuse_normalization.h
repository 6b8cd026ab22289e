// SPDX-License-Identifier: Apache-2.0
// Joins a BatchNormalization with what follows it at once: a Relu, or an Add and its Relu. What it
// normalizes is then written once.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out; only where a kernel takes the group.
Graph fuse_normalization(const Graph& graph);

}  // namespace narrowgauge
