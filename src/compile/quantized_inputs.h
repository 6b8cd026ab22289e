// SPDX-License-Identifier: Apache-2.0
// Bytes have no NaN and no infinities: where values become bytes, the executor looks for them.
#pragma once

#include <cstddef>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// An operand of floats from which a step makes bytes.
struct QuantizedInput {
  std::size_t input = 0;  // of the step
  DType dtype = DType::f32;
  Dims dims{};
  bool rows_follow = true;  // the first axis is the outermost in memory
};

// The quantized inputs of a node; no constants, and none that lie with gaps, which may hold
// anything.
std::vector<QuantizedInput> quantized_inputs(const Graph& graph, const Node& node);

}  // namespace narrowgauge
