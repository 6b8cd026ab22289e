// SPDX-License-Identifier: Apache-2.0
// One network has several graphs, for training, evaluation and prediction: they compute alike.
#pragma once

#include "narrowgauge/precision.h"

namespace narrowgauge {

// The plan by which a graph computes as another graph of the same network was planned to: nodes
// that both have take format and contract from there, edited ones too; the lists decide on others.
PrecisionPlan follow(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
