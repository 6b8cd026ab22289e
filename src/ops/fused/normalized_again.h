// SPDX-License-Identifier: Apache-2.0
// A NormalizeAgain at the beginning of a part of a group, optionally followed by a Relu: kernels
// that read x anyway compute the same bits in registers.
#pragma once

#include <span>
#include <string>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct NormalizedAgain {
  int x = -1, scale = -1, bias = -1, mean = -1, inverse_std = -1;  // inputs
  bool relu = false;
  Value value;             // its result, in the body
  std::size_t length = 0;  // nodes; 0: there is none

  // Why the vectors cannot be read; "" if they can.
  std::string reason(const Request& request) const;
  // Factors for y = (x - mean) * factor + constant, per channel.
  void factors(const KernelCall& call, std::int64_t channels, float* factor, float* constant) const;
};

// Matches the first of the body's working nodes.
NormalizedAgain match_normalized_again(const Graph& body, std::span<const int> nodes);

}  // namespace narrowgauge
