// SPDX-License-Identifier: Apache-2.0
// Forms groups around single nodes: of the choices that a pass names, the first that is convex and
// that a kernel takes.
#pragma once

#include "passes/fused_group.h"

namespace narrowgauge {

class GroupFormer {
 public:
  using Members = std::vector<int>;  // in their order

  explicit GroupFormer(const Graph& graph);

  const Graph& graph() const { return graph_; }
  // Nodes that are in no group yet.
  bool is_free(int node) const { return node >= 0 && groups_.group_of(node) < 0; }
  template <class Op>
  bool is(int node) const {
    return is_free(node) && graph_.node(node).is<Op>();
  }
  const std::vector<int>& readers(Value value) const;
  // The node that reads a value, where there is just one and the value does not leave the graph;
  // else -1.
  int only_reader(Value value) const;
  // The producer of a value that only `reader` reads, or -1.
  int passing_to(Value value, int reader) const;

  // Whether the value is a state's next one or the caller's.
  bool leaves(Value value) const { return leaving_.contains(value); }

  // Whether a kernel takes them as a group.
  bool is_taken(const Members& members) const;
  void form(const std::vector<Members>& choices);
  Graph finish() { return fuse_groups(graph_, std::move(groups_)); }

 private:
  std::set<Value> read_outside(const Members& members) const;

  const Graph& graph_;
  const std::vector<std::vector<std::vector<int>>> readers_;
  std::set<Value> leaving_;
  Groups groups_;
};

}  // namespace narrowgauge
