// SPDX-License-Identifier: Apache-2.0
// Which float initializers of a model file are no parameters.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Parameters from which no output is reached through ports that have gradients become statistics,
// which training keeps as they are: stored means and variances, tables that are only compared.
Graph with_untrained_states(const Graph& graph);

// `graph` with its states in the roles that those of another graph of the same network have.
Graph with_roles_of(const Graph& other, const Graph& graph);

}  // namespace narrowgauge
