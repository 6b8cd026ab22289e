// SPDX-License-Identifier: Apache-2.0
// The beginning of groups that pass a gradient back: an optional ConvDataGradient, Add and
// ReluGradient, in this order. What the ReluGradient reads may be normalized again before it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/tiles/tile_convolution.h"
#include "ops/fused/fused_body.h"
#include "ops/fused/normalized_again.h"

namespace narrowgauge {

struct SlopePattern {
  const Node* convolution = nullptr;
  int dy = -1, weights = -1;  // inputs; dy is the gradient itself where there is no convolution
  int other = -1, kept = -1;  // inputs, of Add and ReluGradient; -1: none
  NormalizedAgain again;      // in the place of `kept`
  Value slope;                // its result
  std::size_t length = 0;     // nodes
};

// Matches the first of the body's working nodes; length 0 if they do not begin a chain.
SlopePattern match_slope(const Graph& body, const std::vector<int>& nodes);

// What computes the chain, with a result like `slope`; or the reason why tiles do not take it.
struct SlopeKernel {
  std::shared_ptr<const cpu::TileConvolution> kernel;
  std::string reason;
};
SlopeKernel slope_kernel(const SlopePattern& pattern, const Request& request, const Operand& slope);

// The inputs whose memory output `written` may overwrite.
std::vector<InPlace> slope_places(const SlopePattern& pattern, int written);

// Runs the chain into output `written`, with whatever else `slopes` asks for.
void run_slope(const SlopePattern& pattern, const cpu::TileConvolution& kernel,
               const KernelCall& call, int written, cpu::Slopes slopes);

}  // namespace narrowgauge
