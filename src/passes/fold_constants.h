// SPDX-License-Identifier: Apache-2.0
// Computes what depends on constants alone, with the ops' own reference kernels. Results of more
// than 64 Ki elements stay computed at run time.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph fold_constants(const Graph& graph);

}  // namespace narrowgauge
