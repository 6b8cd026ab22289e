// SPDX-License-Identifier: Apache-2.0
// Replaces the symbols of all shapes by numbers, since a plan needs bound shapes.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Throws UsageError naming a symbol that is left unbound.
Graph bind_shapes(const Graph& graph, const Binding& binding);

}  // namespace narrowgauge
