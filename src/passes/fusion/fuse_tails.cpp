// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/fuse_tails.h"

#include <algorithm>
#include <vector>

#include "groups/finished.h"
#include "ir/readers.h"
#include "passes/fusion/fused_group.h"
#include "passes/fusion/strip_members.h"

namespace narrowgauge {

namespace {

class Tails {
 public:
  explicit Tails(const Graph& graph) : graph_(graph), readers_(graph), groups_(graph) {}

  Groups find() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (may_be_finished(graph_.node(i))) follow(i);
    return std::move(groups_);
  }

 private:
  // Joins what can join, and goes back to the last place where a single value left the group.
  void follow(int first) {
    const int group = groups_.start(first);
    std::size_t kept = 0;
    for (int next = next_member(group); next >= 0; next = next_member(group)) {
      groups_.join(next, group);
      if (leaves_by_its_last(group)) kept = groups_.members(group).size();
      if (groups_.members(group).size() == most_strip_members) break;
    }
    const std::vector<int> members = groups_.members(group);
    groups_.dissolve(group);
    if (kept == 0) return;
    const int again = groups_.start(first);
    for (std::size_t i = 1; i < kept; ++i) groups_.join(members[i], again);
  }

  // The first node that reads a member and may join; -1: none.
  int next_member(int group) const {
    const std::vector<int>& members = groups_.members(group);
    int first = -1;
    for (const int member : members)
      for (const int reader : readers_.of({member, 0}))
        if ((first < 0 || reader < first) && may_join(reader, group)) first = reader;
    return first;
  }

  bool may_join(int node, int group) const {
    const std::vector<int>& members = groups_.members(group);
    return node > members.back() && groups_.group_of(node) < 0 &&
           runs_in_strips(graph_, graph_.node(node)) &&
           !quantizes_in_strips(graph_, graph_.node(node)) &&
           same_place(graph_.info({members[0], 0}), graph_.node(node).outputs[0]) &&
           groups_.can_join(node, group);
  }

  // Whether what is behind the group reads its last member, and no other.
  bool leaves_by_its_last(int group) const {
    const std::vector<int>& members = groups_.members(group);
    return std::ranges::all_of(members, [&](int member) {
      const std::vector<int>& readers = readers_.of({member, 0});
      const bool leaves = readers_.leaves({member, 0}) || std::ranges::any_of(readers, [&](int r) {
                            return groups_.group_of(r) != group;
                          });
      return leaves == (member == members.back());
    });
  }

  const Graph& graph_;
  const Readers readers_;
  Groups groups_;
};

}  // namespace

Graph fuse_tails(const Graph& graph, const Target& target) {
  return fuse_groups(graph, Tails(graph).find(), target);
}

}  // namespace narrowgauge
