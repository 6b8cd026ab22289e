// SPDX-License-Identifier: Apache-2.0
// What becomes of a training that goes on twice.
#pragma once

#include "api/model/model_implementation.h"

namespace narrowgauge {

// Throws UsageError, beginning with `who`, unless a training of `trained` can go on with `given`:
// another model of the same network.
void require_clone(const std::string& who, const Model::Implementation& trained,
                   const Model& given);

// The moments and the control states of a graph, as a store has them.
std::vector<StateStore::NewValue> training_states(const Graph& graph, const StateStore& store);

}  // namespace narrowgauge
