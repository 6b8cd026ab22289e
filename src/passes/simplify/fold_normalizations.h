// SPDX-License-Identifier: Apache-2.0
// Normalizations by stored statistics, and products and sums with a number for each channel, as a
// part of the convolutions before them.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// A BatchNormalization out of training that alone reads a convolution goes: the convolution's
// weights are multiplied by scale / sqrt(variance + epsilon), channel by channel, and its bias is
// moved to match, both in f32. A Mul or an Add with a number for each channel goes likewise, and so
// do chains of these. So it is where all of these are states that the graph leaves as they are, or
// constants, also in other shapes; hoist_state_functions then computes them once. Not in f16, whose
// range the products may exceed, and not for a simulated unit, which is to multiply the weights as
// they are.
Graph fold_normalizations(const Graph& graph);

}  // namespace narrowgauge
