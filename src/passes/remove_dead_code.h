// SPDX-License-Identifier: Apache-2.0
// Drops nodes that no output and no state's next value depends on. Inputs are the graph's
// signature and stay; a state that nothing reads or writes goes.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph remove_dead_code(const Graph& graph);

}  // namespace narrowgauge
