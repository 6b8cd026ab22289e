// SPDX-License-Identifier: Apache-2.0
// Forms groups around single nodes: of a pass's choices, the first that is convex and that a kernel
// takes.
#pragma once

#include "passes/fused_group.h"

namespace narrowgauge {

class GroupFormer {
 public:
  using Members = std::vector<int>;  // in their order

  GroupFormer(const Graph& graph, const Target& target);

  const Graph& graph() const { return graph_; }
  // Whether the node is in no group yet.
  bool is_free(int node) const { return node >= 0 && groups_.group_of(node) < 0; }
  template <class Op>
  bool is(int node) const {
    return is_free(node) && graph_.node(node).is<Op>();
  }
  const std::vector<int>& readers(Value value) const;
  // The only node that reads a value which does not leave the graph; -1 if there is none or
  // several.
  int only_reader(Value value) const;
  // The node that computes a value that only `reader` reads; -1 otherwise.
  int passing_to(Value value, int reader) const;

  // Whether the value is an output or a state's next value.
  bool leaves(Value value) const { return leaving_.contains(value); }

  // Whether a kernel takes these nodes as a group.
  bool is_taken(const Members& members) const;
  void form(const std::vector<Members>& choices);
  Graph finish() { return fuse_groups(graph_, std::move(groups_), target_); }

 private:
  std::set<Value> read_outside(const Members& members) const;

  const Graph& graph_;
  const Target& target_;
  const std::vector<std::vector<std::vector<int>>> readers_;
  std::set<Value> leaving_;
  Groups groups_;
};

}  // namespace narrowgauge
