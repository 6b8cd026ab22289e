// SPDX-License-Identifier: Apache-2.0
#include "passes/groups.h"

#include <functional>
#include <queue>

namespace narrowgauge {

Groups::Groups(const Graph& graph) : graph_(graph), group_(graph.nodes().size(), -1) {}

int Groups::start(int node) { return group_[node] = members_.add({node}); }

void Groups::join(int node, int group) {
  members_[group].push_back(node);
  group_[node] = group;
}

void Groups::dissolve(int group) {
  for (const int node : members(group)) group_[node] = -1;
  members_[group].clear();
}

// Whether the node, together with its whole group, depends on `group`.
bool Groups::reaches(int from_node, int group, IndexedVector<int, bool>& seen) const {
  if (group_of(from_node) == group) return true;
  if (seen[from_node]) return false;
  const int own = group_of(from_node);
  const std::vector<int> alone{from_node};
  const std::vector<int>& unit = own < 0 ? alone : members(own);
  for (const int member : unit) seen[member] = true;
  for (const int member : unit)
    for (const Value& input : graph_.node(member).inputs)
      if (!input.is_absent() && group_of(input.node) != own && reaches(input.node, group, seen))
        return true;
  if (own >= 0) return false;
  for (const Value& input : graph_.node(from_node).inputs)
    if (!input.is_absent() && reaches(input.node, group, seen)) return true;
  return false;
}

bool Groups::can_join(int node, int group) const {
  IndexedVector<int, bool> seen(group_.size());
  for (const Value& input : graph_.node(node).inputs)
    if (!input.is_absent() && group_of(input.node) != group && reaches(input.node, group, seen))
      return false;
  return true;
}

std::vector<int> Groups::order() const {
  const auto unit_of = [&](int node) {
    const int group = group_of(node);
    return group < 0 ? node : members(group).back();
  };
  const int nodes = group_.size();
  IndexedVector<int, std::vector<int>> followers(nodes);
  IndexedVector<int, int> waiting(nodes);
  for (int i = 0; i < nodes; ++i)
    for (const Value& input : graph_.node(i).inputs) {
      if (input.is_absent() || unit_of(input.node) == unit_of(i)) continue;
      followers[unit_of(input.node)].push_back(unit_of(i));
      ++waiting[unit_of(i)];
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes; ++i)
    if (unit_of(i) == i && waiting[i] == 0) ready.push(i);
  std::vector<int> result;
  while (!ready.empty()) {
    const int unit = ready.top();
    ready.pop();
    result.push_back(unit);
    for (const int next : followers[unit])
      if (--waiting[next] == 0) ready.push(next);
  }
  return result;
}

}  // namespace narrowgauge
