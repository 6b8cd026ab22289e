// SPDX-License-Identifier: Apache-2.0
// Lets the backward pass compute the result of a BatchNormalization (and a Relu after it) again, so
// that only the convolution's result is kept and not also the normalized one. Kernels that read it
// compute it in registers: bits stay the same, and no bytes are added.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Takes graphs that are laid out, before groups are formed. Computes again where every reader of
// the backward pass will be in a group that a kernel takes.
Graph normalize_again(const Graph& graph, const Target& target);

}  // namespace narrowgauge
