// SPDX-License-Identifier: Apache-2.0
// Whether the samples of a batch are computed apart, so that a batch may be computed in parts.
#pragma once

#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Whether the first size of all inputs and outputs is `symbol`, and no node lets samples meet. An
// op that is not known to keep them apart counts as one that lets them meet.
bool keeps_samples_apart(const Graph& graph, std::string_view symbol);

}  // namespace narrowgauge
