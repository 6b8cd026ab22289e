// SPDX-License-Identifier: Apache-2.0
// Reading a plan back, with the check that narrow formats written by hand have kernels.
#pragma once

#include <string>
#include <string_view>

#include "precision/lists.h"

namespace narrowgauge {

// read_plan() of the public header, where every narrow node must have a kernel too.
PrecisionPlan read_plan(std::string_view text, const Graph& f32_graph, const HasKernel& has_kernel);
PrecisionPlan load_plan(const std::string& path, const Graph& f32_graph,
                        const HasKernel& has_kernel);

// Throws ModelError when the plan was made for another model.
void require_same_model(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
