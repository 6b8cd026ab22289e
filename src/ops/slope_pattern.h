// SPDX-License-Identifier: Apache-2.0
// The beginning of groups that lead a gradient back: ConvDataGradient, Add and ReluGradient, each
// of them or not, in this order.
#pragma once

#include <vector>

#include "ops/fused_body.h"

namespace narrowgauge {

struct SlopePattern {
  const Node* convolution = nullptr;
  int dy = -1, weights = -1;  // inputs; dy is the gradient itself where there is no convolution
  int other = -1, kept = -1;  // inputs, of Add and ReluGradient; -1: none
  Value slope;                // what comes of it
  std::size_t length = 0;     // nodes
};

// Of the body's working nodes, the first of which begin the chain; length 0 where none do.
SlopePattern match_slope(const Graph& body, const std::vector<int>& nodes);

}  // namespace narrowgauge
