// SPDX-License-Identifier: Apache-2.0
// In which format each node of a training step computes, layer by layer.
#pragma once

#include <string>

#include "narrowgauge/explain.h"

namespace narrowgauge::cli {

// `graph` is that of the step which `explanation` is about.
std::string precision_html(const Explanation& explanation, const Graph& graph);

}  // namespace narrowgauge::cli
