// SPDX-License-Identifier: Apache-2.0
// Chooses the memory layout of activations. Logical shapes stay; only ng.Relayout nodes are added,
// at the borders between regions of different storage.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// fastest: batch_inner where a contraction takes it, channels_last for the others.
enum class Layout : std::uint8_t { plain, channels_last, batch_inner, fastest };

// Lays out a graph of bound shapes. Activations of rank 3 to 5 around contractions take `layout`
// wherever a fast kernel of each node takes it. Only whole blocks of images and channels lie
// batch-inner.
Graph assign_layout(const Graph& graph, Layout layout, const Target& target);

}  // namespace narrowgauge
