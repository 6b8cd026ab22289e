// SPDX-License-Identifier: Apache-2.0
// Reads a plan back and checks that narrow formats edited by hand have kernels.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "precision/lists.h"

namespace narrowgauge {

// Like the public read_plan(), but every narrow node must also have a kernel.
PrecisionPlan read_plan(std::string_view text, const Graph& f32_graph, const HasKernel& has_kernel);
PrecisionPlan load_plan(const std::string& path, const Graph& f32_graph,
                        const HasKernel& has_kernel);

// Reads a plan from a text; `who` is its name in messages.
PrecisionPlan read_named_plan(std::string_view text, const std::string& who, const Graph& f32_graph,
                              const HasKernel& has_kernel = {});
DType narrow_of_plan(std::istream& text, const std::string& who);

// Throws ModelError if the plan was made for another model.
void require_same_model(const PrecisionPlan& plan, const Graph& f32_graph);

}  // namespace narrowgauge
