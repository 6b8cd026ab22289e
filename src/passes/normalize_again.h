// SPDX-License-Identifier: Apache-2.0
// Lets the backward pass normalize again what a BatchNormalization (and a Relu behind it) made, so
// that of a convolution's result and the normalized one only the first is kept. The readers are
// kernels that make it in registers: bits stay as they are, and no bytes are added.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// For graphs that are laid out, before groups are formed; where every reader of the backward pass
// will be in a group that a kernel takes.
Graph normalize_again(const Graph& graph);

}  // namespace narrowgauge
