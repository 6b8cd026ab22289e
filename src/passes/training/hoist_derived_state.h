// SPDX-License-Identifier: Apache-2.0
// Keeps the narrow copy of a parameter as a state of its own instead of casting it in every step.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// A Cast of a parameter to a narrow format becomes the derived state "<parameter>.<dtype>". If an
// op with an output port `narrow_weight` updates the parameter, it writes the copy in the same pass
// over memory; otherwise a Cast of the new value does.
Graph hoist_derived_state(const Graph& graph);

}  // namespace narrowgauge
