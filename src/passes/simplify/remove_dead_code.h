// SPDX-License-Identifier: Apache-2.0
// Removes nodes that no output and no state's next value depends on. Inputs stay as the graph's
// signature; a state that nothing reads or writes is removed.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph remove_dead_code(const Graph& graph);

}  // namespace narrowgauge
