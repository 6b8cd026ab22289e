// SPDX-License-Identifier: Apache-2.0
// How passes make a new graph from an old one: copy nodes in order, map values, finish.
#pragma once

#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

class Rebuild {
 public:
  explicit Rebuild(const Graph& source);

  const Graph& source() const { return source_; }
  Graph& graph() { return graph_; }

  // The new value of an old one; absent stays absent.
  Value mapped(Value old) const;
  Values mapped(const Values& old) const;
  bool has(Value old) const;
  void map(Value old, Value now);
  // Copies a node with its name, storage and math onto mapped inputs; also inputs and states.
  void copy(int node);
  // The same with other attributes or inputs (already of the new graph).
  void copy(int node, Attributes attributes, Values inputs);
  NodeOptions options_of(int node) const;
  // Next values of states and outputs follow; then the graph is taken out.
  Graph finish();

 private:
  const Graph& source_;
  Graph graph_;
  std::vector<Values> map_;
};

// Applies a pass to the regions inside a node's attributes.
Attributes with_regions(const Node& node, Graph (*pass)(const Graph&));

// For every value of the graph, the nodes that read it.
std::vector<std::vector<std::vector<int>>> readers_of(const Graph& graph);

}  // namespace narrowgauge
