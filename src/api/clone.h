// SPDX-License-Identifier: Apache-2.0
// What becomes of a training that goes on twice.
#pragma once

#include "api/model_implementation.h"

namespace narrowgauge {

// Throws UsageError, beginning with `who`, unless a training of `trained` can go on with `given`:
// another model of the same network.
void require_clone(const std::string& who, const Model::Implementation& trained,
                   const Model& given);

// Copies the moments and the control states of a graph from one store to another, which has them.
void copy_training_states(const Graph& graph, const StateStore& from, StateStore& to);

}  // namespace narrowgauge
