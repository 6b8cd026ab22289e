// SPDX-License-Identifier: Apache-2.0
// What losses have in common.
#pragma once

#include "narrowgauge/network.h"
#include "ops/pointwise/expression.h"

namespace narrowgauge {

// Formulas that become nodes of the network's graph.
Rewriting formulas(Network& network);

// The input "labels", f32 of the prediction's shape.
Value labels_like(Network& network, Value prediction);

Value mean_of_all(Network& network, Value x);  // the node "loss"

// Throws UsageError unless `number` is finite and above 0.
void require_positive(const char* loss, const char* parameter, double number);

}  // namespace narrowgauge
