// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that can become one node: a group is convex, so no path leaves it and returns.
#pragma once

#include <vector>

#include "base/indexed_vector.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// All nodes stand in a line, each behind what it reads and the members of a group side by side. So
// whether two of its units depend on each other by a detour shows between their places, and what
// is far away costs nothing (after Pearce and Kelly, 2006).
class Groups {
 public:
  explicit Groups(const Graph& graph);

  int group_of(int node) const { return group_[node]; }  // -1: none
  const std::vector<int>& members(int group) const { return members_[group]; }
  int count() const { return members_.size(); }
  int start(int node);  // a new group of one
  // Whether the group stays convex if `node`, which is in no group, joins.
  bool can_join(int node, int group) const;
  void join(int node, int group);
  void dissolve(int group);
  // Nodes and groups, each after everything it reads; a group appears as its last member. Close to
  // the graph's own order.
  std::vector<int> order() const;

 private:
  // Two units of the line, and what stands between them.
  struct Gap {
    int first = 0, begin = 0;    // places: where the earlier unit begins, and behind it
    int end = 0, last = 0;       // where the later unit begins, and behind it
    std::vector<bool> needed{};  // by the later unit; of the places from begin to end
    bool is_detour = false;      // what is needed needs the earlier unit; not all is marked then
    std::vector<int> open{};     // nodes whose inputs are still to be followed
  };
  Gap gap_between(int node, int group) const;
  void need(Gap& gap, int node) const;

  const Graph& graph_;
  IndexedVector<int, int> group_;                 // of each node
  IndexedVector<int, std::vector<int>> members_;  // of each group
  IndexedVector<int, int> line_, place_;          // the nodes in their line; where each stands
};

}  // namespace narrowgauge
