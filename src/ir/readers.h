// SPDX-License-Identifier: Apache-2.0
// Who reads each value of a graph.
#pragma once

#include <set>
#include <vector>

#include "ir/value_table.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// A table of the readers of all values; the graph must not change while it is used.
class Readers {
 public:
  explicit Readers(const Graph& graph);

  // The nodes that read a value, in their order; one that reads it twice stands twice.
  const std::vector<int>& of(Value value) const { return nodes_[value]; }
  // Whether the value is an output of the graph or the next value of a state.
  bool leaves(Value value) const { return leaving_.contains(value); }
  // The only node that reads a value which does not leave the graph; -1 if there is none or
  // several.
  int only(Value value) const {
    return of(value).size() == 1 && !leaves(value) ? of(value)[0] : -1;
  }

 private:
  ValueTable<std::vector<int>> nodes_;
  std::set<Value> leaving_;
};

}  // namespace narrowgauge
