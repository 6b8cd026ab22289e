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

// Inputs in the graph's order, all shapes known; returns the outputs in the graph's order. A value
// that is not plain comes back as the flat array it is in memory.
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const InterpretOptions& options = {});

// Asks the op's kernels in order; throws UsageError listing the reasons when all decline.
// `reference` asks them from the last to the first.
Offer choose_kernel(const Request& request, bool reference, std::string_view only = {});

}  // namespace narrowgauge
