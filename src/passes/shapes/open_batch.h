// SPDX-License-Identifier: Apache-2.0
// Graphs for batches of any size, from those that were written for one.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Where all inputs have the same known number as their first size, that becomes the symbol N, and
// Reshape follows. Other graphs stay as they are. Throws UsageError where another op needs the
// number.
Graph with_open_batch(const Graph& graph);

}  // namespace narrowgauge
