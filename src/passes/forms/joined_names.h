// SPDX-License-Identifier: Apache-2.0
// Which nodes each form consisted of, so that the op in their place goes by all of their names.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "passes/core/rebuild.h"

namespace narrowgauge {

class JoinedNames {
 public:
  explicit JoinedNames(Rebuild& rebuild) : rebuild_(rebuild) {}

  // `end` of the old graph became `value`, made by the nodes of the new one from `first` on; none
  // of them where it is a value that was there already. To be called before `end` is mapped.
  void join(int end, int first, Value value);
  // The new graph, whose nodes then have their names.
  Graph given_to(const Graph& made) const;

 private:
  // Nodes of the new graph that a form became, [first, last).
  struct Made {
    int first, last;
  };
  bool is_read(Value old, const std::set<Value>& read) const;
  void add(const Made& made, const Node& part);

  Rebuild& rebuild_;
  std::map<int, Made> made_;                    // by the node of the old graph that it ended with
  std::map<int, std::vector<FileNode>> names_;  // by node of the new graph
};

}  // namespace narrowgauge
