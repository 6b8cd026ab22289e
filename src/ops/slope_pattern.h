// SPDX-License-Identifier: Apache-2.0
// The beginning of groups that lead a gradient back: ConvDataGradient, Add and ReluGradient, each
// of them or not, in this order. Before the ReluGradient, what it reads may be normalized again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/batch_inner_gather.h"
#include "ops/fused_body.h"
#include "ops/normalized_again.h"

namespace narrowgauge {

struct SlopePattern {
  const Node* convolution = nullptr;
  int dy = -1, weights = -1;  // inputs; dy is the gradient itself where there is no convolution
  int other = -1, kept = -1;  // inputs, of Add and ReluGradient; -1: none
  NormalizedAgain again;      // in the place of `kept`
  Value slope;                // what comes of it
  std::size_t length = 0;     // nodes
};

// Of the body's working nodes, the first of which begin the chain; length 0 where none do.
SlopePattern match_slope(const Graph& body, const std::vector<int>& nodes);

// What computes the chain, whose result is like `slope`; or the reason why tiles do not take it.
struct SlopeGather {
  std::shared_ptr<const cpu::BatchInnerGather> gather;
  std::string reason;
};
SlopeGather gather_slope(const SlopePattern& pattern, const Request& request, const Operand& slope);

// What output `written` may be written over.
std::vector<InPlace> slope_places(const SlopePattern& pattern, int written);

// Runs the chain into output `written`, whatever `slopes` asks for besides.
void run_slope(const SlopePattern& pattern, const cpu::BatchInnerGather& gather,
               const KernelCall& call, int written, cpu::Slopes slopes);

}  // namespace narrowgauge
