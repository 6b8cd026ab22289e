// SPDX-License-Identifier: Apache-2.0
// Merges scans that take the same steps over the same inputs where one gives all that the other
// does, and more: a forward scan with the one that its gradient records.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph merge_scans(const Graph& graph);

}  // namespace narrowgauge
