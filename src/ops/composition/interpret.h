// SPDX-License-Identifier: Apache-2.0
// Runs a graph node by node on host memory, without a plan: the reference of fused groups, the
// engine of If, Loop and Scan, and the oracle of tests.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct InterpretOptions {
  bool reference = true;  // the last kernel that accepts, else the first
  bool deterministic = true;
  RunContext context{};
  std::map<std::string, Tensor>* states = nullptr;  // read, and replaced by their next values
};

// Runs the graph on inputs in its order, all shapes known; returns the outputs in its order. A
// value that is not plain comes back as the flat array in memory.
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const InterpretOptions& options = {});

// The outputs of one node of a graph, all of whose inputs are constants or absent.
std::vector<Tensor> interpret_node(const Graph& graph, const Node& node,
                                   const InterpretOptions& options = {});

// Asks the op's kernels in order, or from the last to the first if `reference`, or only the one
// named `only`; throws UsageError listing the reasons if all decline. The offer is not made ready.
Offer ask_kernels(const Request& request, bool reference, std::string_view only = {});
// The offer of ask_kernels(), made ready.
Offer choose_kernel(const Request& request, bool reference, std::string_view only = {});

}  // namespace narrowgauge
