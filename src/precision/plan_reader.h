// SPDX-License-Identifier: Apache-2.0
// Reads a plan back, from a text that has a name.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/precision.h"

namespace narrowgauge {

// Reads a plan from a text; `who` is its name in messages. `network` has the names of the graph
// that predicts where this one trains its network: their plans may then follow each other.
PrecisionPlan read_named_plan(std::string_view text, const std::string& who, const Graph& f32_graph,
                              const std::vector<std::string>& network = {});
DType narrow_of_plan(std::string_view text, const std::string& who);

// Throws ModelError if the plan was made for another model.
void require_same_model(const PrecisionPlan& plan, const Graph& f32_graph);
// Throws ModelError if the plan was made for another model than this graph that predicts, which may
// also follow a plan by which its network trains, or predicts for inputs of other sizes.
void require_same_network(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
