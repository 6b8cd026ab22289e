// SPDX-License-Identifier: Apache-2.0
// Computes nodes that depend only on constants, with the ops' own reference kernels. Results of
// more than 64 Ki elements are still computed at run time.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph fold_constants(const Graph& graph);

}  // namespace narrowgauge
