// SPDX-License-Identifier: Apache-2.0
// Graphs from texts as models of ONNX, and what tests ask of these.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/export/export.h"
#include "io/onnx/import.h"
#include "ops/composition/interpret.h"
#include "ops/table.h"

namespace narrowgauge::onnx::testing_export {

inline narrowgauge::Graph graph_of(const std::string& nodes) {
  return parse("graph \"test\" {\n" + nodes + "\n}", op_table());
}

inline Model exported(const std::string& nodes) { return export_graph(graph_of(nodes)); }

inline std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op_type);
  return ops;
}

inline const Node& node_named(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  require(found != graph.nodes.end(), "no node ", name);
  return *found;
}

using Names = std::vector<std::string>;

inline Tensor counting(Dims dims, double step = 0.25) {
  Tensor tensor(DType::f32, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, step * static_cast<double>(i % 11) - 1);
  return tensor;
}

// The file computes on these inputs what the graph does.
inline void expect_same_results(const narrowgauge::Graph& graph, const Model& model,
                                const std::vector<Tensor>& inputs) {
  ImportOptions options;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    options.types[model.graph.inputs[i].name] = inputs[i].type();
  const auto got = interpret(import_graph(model, options), inputs);
  const auto expected = interpret(graph, inputs);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t o = 0; o < got.size(); ++o) EXPECT_TRUE(got[o].same_bits(expected[o])) << o;
}

}  // namespace narrowgauge::onnx::testing_export
