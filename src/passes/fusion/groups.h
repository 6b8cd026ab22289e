// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that can become one node: a group is convex, so no path leaves it and returns.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/indexed_vector.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// All nodes stand in a line, each behind what it reads and the members of a group side by side. So
// whether two of its units depend on each other by a detour shows between their places (after
// Pearce and Kelly, 2006).
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
    int first = 0, begin = 0;  // places: where the earlier unit begins, and behind it
    int end = 0, last = 0;     // where the later unit begins, and behind it
    bool is_detour = false;    // what the later unit needs needs the earlier one
  };
  // Marks what the later unit needs of the gap: all of it unless there is a detour.
  Gap gap_between(int node, int group) const;
  void need(int node) const;
  bool is_needed(int node) const { return needed_by_[node] == search_; }

  const Graph& graph_;
  IndexedVector<int, int> group_;                 // of each node
  IndexedVector<int, std::vector<int>> members_;  // of each group
  IndexedVector<int, int> line_, place_;          // the nodes in their line; where each stands
  // The latest search: its number, the last search that needed each node, and the nodes whose
  // inputs are still to be followed, with their places.
  mutable int search_ = 0;
  mutable IndexedVector<int, int> needed_by_;
  mutable std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>>
      open_;
};

}  // namespace narrowgauge
