// SPDX-License-Identifier: Apache-2.0
// Puts one op in the place of what exporters write out in primitives: Gelu, Swish, layer, group and
// RMS normalization, attention. The op has kernels and a class in mixed precision of its own.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Results differ by rounding alone. What the forms consisted of stays where others read it.
Graph recognize_forms(const Graph& graph);

}  // namespace narrowgauge
