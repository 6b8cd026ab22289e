// SPDX-License-Identifier: Apache-2.0
// A contraction of a plan as it ran alone.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The time of a contraction. Nodes with the same op, attributes, operands and kernel count as one.
struct ContractionTime {
  std::string op, node;             // "Conv", and the first node that does this
  std::string origin;               // of a gradient: the node it belongs to
  std::string shapes;               // of inputs and result: "f32[8,4] x f32[4,2] -> f32[8,2]"
  std::string implementation, why;  // what ran, and why where others would have run too
  KernelFacts facts;                // of the kernel that ran
  Math math = Math::none;           // how accurate its products and sums are
  double flops = 0;                 // of one run
  std::int64_t bytes = 0;           // operands, each once
  std::int64_t count = 0;           // nodes of the plan that do the same
  double milliseconds = 0;          // of one run: the median
  double fastest = 0;               // milliseconds of the fastest run
};

}  // namespace narrowgauge
