// SPDX-License-Identifier: Apache-2.0
// Reading a plan back, with the check that narrow formats written by hand have kernels.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "precision/lists.h"

namespace narrowgauge {

// read_plan() of the public header, where every narrow node must have a kernel too.
PrecisionPlan read_plan(std::string_view text, const Graph& f32_graph, const HasKernel& has_kernel);
PrecisionPlan load_plan(const std::string& path, const Graph& f32_graph,
                        const HasKernel& has_kernel);

// The same for a text that was read already; `who` is its name in messages.
PrecisionPlan read_named_plan(std::string_view text, const std::string& who, const Graph& f32_graph,
                              const HasKernel& has_kernel = {});
DType narrow_of_plan(std::istream& text, const std::string& who);

// Throws ModelError when the plan was made for another model.
void require_same_model(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
