// SPDX-License-Identifier: Apache-2.0
// What becomes of a training that goes on twice.
#pragma once

#include "runtime/state_store.h"

namespace narrowgauge {

// Copies the moments and the control states of a graph from one store to another, which has them.
void copy_training_states(const Graph& graph, const StateStore& from, StateStore& to);

}  // namespace narrowgauge
