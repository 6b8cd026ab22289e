// SPDX-License-Identifier: Apache-2.0
#include "ops/slope_pattern.h"

#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/relu.h"

namespace narrowgauge {

SlopePattern match_slope(const Graph& body, const std::vector<int>& nodes) {
  SlopePattern pattern;
  const auto next = [&]() {
    return pattern.length < nodes.size() ? &body.node(nodes[pattern.length]) : nullptr;
  };
  const auto advance = [&] { pattern.slope = {nodes[pattern.length++], 0}; };
  // What the first node reads is the gradient.
  const auto begin_with = [&](Value value) {
    if (pattern.length > 0) return;
    pattern.slope = value;
    pattern.dy = input_index(body, value);
  };
  if (const Node* node = next(); node && node->is<ConvDataGradient>()) {
    pattern.convolution = node;
    begin_with(node->inputs[0]);
    pattern.weights = input_index(body, node->inputs[1]);
    advance();
  }
  if (const Node* node = next(); node && node->is<Add>()) {
    begin_with(node->inputs[0]);
    pattern.other = other_input(body, *node, pattern.slope);
    if (pattern.other < 0) return {};
    advance();
  }
  if (const Node* node = next(); node && node->is<ReluGradient>()) {
    begin_with(node->inputs[1]);
    pattern.kept = input_index(body, node->inputs[0]);
    if (pattern.kept < 0 || !(node->inputs[1] == pattern.slope)) return {};
    advance();
  }
  const bool whole = pattern.dy >= 0 && (!pattern.convolution || pattern.weights >= 0);
  return whole ? pattern : SlopePattern{};
}

}  // namespace narrowgauge
