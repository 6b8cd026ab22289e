// SPDX-License-Identifier: Apache-2.0
// What a graph of train/training_graph.h puts out, of a Trainer's step or one of a Step.
#pragma once

#include <span>
#include <string_view>

#include "narrowgauge/model.h"

namespace narrowgauge {

// A scalar among the results of a run of the graph.
double output_of(const Graph& graph, std::span<const Tensor> results, std::string_view name);
// All but the loss, which a graph of an update does not have.
StepResult step_result_of(const Graph& graph, std::span<const Tensor> results);

}  // namespace narrowgauge
