// SPDX-License-Identifier: Apache-2.0
// Makes the several graphs of one network, for training, evaluation and prediction, compute alike.
#pragma once

#include "narrowgauge/precision.h"

namespace narrowgauge {

// The plan that makes a graph compute as another graph of the same network does: nodes in both take
// format and contract from `plan`, even edited ones; the plan's policy decides on the others.
PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
