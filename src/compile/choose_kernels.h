// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel of every node of a graph that has been through the pipeline.
#pragma once

#include <set>
#include <vector>

#include "compile/choose_fastest.h"
#include "compile/compile.h"

namespace narrowgauge {

// One for each node, empty for sources. Where the plan is to run, the offers are made ready, which
// takes most of the time (oneDNN generates code), so all threads do it. Outputs that are not in
// `read` are not asked for. Throws UsageError if no kernel takes a node.
std::vector<ChosenKernel> choose_kernels(const Graph& graph, const std::set<Value>& read,
                                         const CompileOptions& options);

}  // namespace narrowgauge
