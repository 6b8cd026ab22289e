// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that can become one node: a group is convex, so no path leaves it and returns.
#pragma once

#include <vector>

#include "base/indexed_vector.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

class Groups {
 public:
  explicit Groups(const Graph& graph);

  int group_of(int node) const { return group_[node]; }  // -1: none
  const std::vector<int>& members(int group) const { return members_[group]; }
  int count() const { return members_.size(); }
  int start(int node);  // a new group of one
  // Whether the group stays convex if `node`, which comes after all its members, joins.
  bool can_join(int node, int group) const;
  void join(int node, int group);
  void dissolve(int group);
  // Nodes and groups, each after everything it reads; a group appears as its last member. Close to
  // the graph's own order.
  std::vector<int> order() const;

 private:
  bool reaches(int from_node, int group, IndexedVector<int, bool>& seen) const;

  const Graph& graph_;
  IndexedVector<int, int> group_;                 // of each node
  IndexedVector<int, std::vector<int>> members_;  // of each group
};

}  // namespace narrowgauge
