// SPDX-License-Identifier: Apache-2.0
// NormalizeAgain at the beginning of a part of a group, a Relu behind it or not: kernels that read
// x anyway make the same bits in registers.
#pragma once

#include <span>
#include <string>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct NormalizedAgain {
  int x = -1, scale = -1, bias = -1, mean = -1, inverse_std = -1;  // inputs
  bool relu = false;
  Value value;             // what comes of it, in the body
  std::size_t length = 0;  // nodes; 0: there is none

  // Why the vectors cannot be read; "" when they can.
  std::string reason(const Request& request) const;
  // y = (x - mean) * factor + constant, per channel.
  void factors(const KernelCall& call, std::int64_t channels, float* factor, float* constant) const;
};

// Of the body's working nodes, the first of which make it.
NormalizedAgain match_normalized_again(const Graph& body, std::span<const int> nodes);

}  // namespace narrowgauge
