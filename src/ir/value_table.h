// SPDX-License-Identifier: Apache-2.0
// Something for each value of a graph.
#pragma once

#include "base/indexed_vector.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

template <class T>
class ValueTable {
 public:
  explicit ValueTable(const Graph& graph, const T& initial = T()) {
    for (const Node& node : graph.nodes())
      of_nodes_.add(IndexedVector<int, T>(node.outputs.size(), initial));
  }

  T& operator[](Value value) { return of_nodes_[value.node][value.output]; }
  const T& operator[](Value value) const { return of_nodes_[value.node][value.output]; }

 private:
  IndexedVector<int, IndexedVector<int, T>> of_nodes_;
};

}  // namespace narrowgauge
