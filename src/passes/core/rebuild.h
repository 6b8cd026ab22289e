// SPDX-License-Identifier: Apache-2.0
// How passes make a new graph from an old one: copy nodes in order, map values, finish.
#pragma once

#include <functional>
#include <vector>

#include "ir/value_table.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

class Rebuild {
 public:
  explicit Rebuild(const Graph& source) : Rebuild(source, Graph(source.name())) {}
  // Adds to a graph that has nodes already.
  Rebuild(const Graph& source, Graph begun);

  const Graph& source() const { return source_; }
  Graph& graph() { return graph_; }

  // The new value for an old one; absent stays absent.
  Value mapped(Value old) const;
  Values mapped(const Values& old) const;
  bool has(Value old) const;
  void map(Value old, Value now);
  // Copies a node, an input or a state with its name, storage and math onto mapped inputs.
  void copy(int node);
  // Copies a node with other attributes or inputs (values of the new graph).
  void copy(int node, Attributes attributes, Values inputs);
  // Maps next values of states and outputs, and returns the graph.
  Graph finish();

 private:
  const Graph& source_;
  Graph graph_;
  ValueTable<Value> map_;
};

// The nodes of a model file that a node stands for; itself, where it is called as in the file.
std::vector<FileNode> nodes_in_file(const Node& node);

// Applies a pass to the regions inside a node's attributes.
Attributes with_regions(const Node& node, const std::function<Graph(const Graph&)>& pass);

}  // namespace narrowgauge
