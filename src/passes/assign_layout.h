// SPDX-License-Identifier: Apache-2.0
// Chooses how activations lie in memory. Logical shapes stay; only ng.Relayout nodes are added,
// at the borders between regions of different storage.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

enum class Layout : std::uint8_t { plain, channels_last, channels_blocked };

// For bound shapes. Activations of rank 3 to 5 around contractions take `layout` wherever a fast
// kernel of each node takes it; with `everywhere`, also those of nodes that only their reference
// takes, contractions or not.
Graph assign_layout(const Graph& graph, Layout layout, bool everywhere = false);

}  // namespace narrowgauge
