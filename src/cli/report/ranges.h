// SPDX-License-Identifier: Apache-2.0
// The numbers of each layer drawn over the ranges of f16 and bf16.
#pragma once

#include <string>
#include <vector>

#include "study/ranges.h"

namespace narrowgauge::cli {

// Pictures of weights and, where they were measured, activations and gradients; below them a table.
// The gradients are those times the scale of the loss.
std::string ranges_html(const std::vector<LayerRanges>& layers, double gradient_scale);

}  // namespace narrowgauge::cli
