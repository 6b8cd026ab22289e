// SPDX-License-Identifier: Apache-2.0
// Graphs inside ops as regions: closed graphs, which get what they capture as inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "io/onnx/import/importer.h"

namespace narrowgauge::onnx {

// A graph inside an op. Its inputs are `types`, then what it captures.
struct Body {
  narrowgauge::Graph graph{"body"};
  std::vector<Scope::Capture> captures;  // in the order of the inputs after those of `types`
  bool tensors_only = true;              // no output is a sequence or nothing: `graph` has them
};

// The body of the graph that an attribute of the node is. Throws UnknownValueError where a shape
// inside depends on values that only a run knows.
Body body_of(NodeImport& node, std::string_view attribute, const Graph& graph,
             const TensorTypes& types);

// The region of a body whose inputs after the first `own` are `captured`, in this order. Those that
// it does not read are inputs all the same.
Region region_of(const Body& body, std::size_t own, NodeImport& node,
                 std::span<const Value> captured);

}  // namespace narrowgauge::onnx
