// SPDX-License-Identifier: Apache-2.0
#include "compile/batch_parts.h"

#include <algorithm>

#include "passes/shapes/samples_apart.h"

namespace narrowgauge {

namespace {

// Measured on a Xeon with ResNet-50, in bf16 and on bytes.
constexpr std::int64_t most_bytes = 32 << 20;  // of a value
constexpr std::int64_t least_samples = 4;      // in a part, for which weights are read again

// The bytes of the largest value that a node computes.
std::int64_t largest_value(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes())
    for (const ValueInfo& output : node.outputs)
      if (!is_source(node))
        bytes = std::max(
            bytes, bytes_for(element_count(known_dims(output.type.shape)), output.type.dtype));
  return bytes;
}

}  // namespace

BatchParts batch_parts(const Graph& graph, const Graph& ready) {
  if (graph.inputs().empty()) return {};
  const Shape& shape = graph.type(graph.inputs()[0]).shape;
  if (shape.empty() || shape[0].is_known()) return {};
  const std::string symbol = shape[0].text();
  const std::int64_t batch = known_dims(ready.type(ready.inputs()[0]).shape)[0];
  const std::int64_t largest = largest_value(ready);
  if (largest <= most_bytes || !keeps_samples_apart(graph, symbol)) return {};
  for (std::int64_t parts = 2; batch / parts >= least_samples; ++parts)
    if (batch % parts == 0 && largest / parts <= most_bytes) return {symbol, parts};
  return {};
}

}  // namespace narrowgauge
