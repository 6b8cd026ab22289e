// SPDX-License-Identifier: Apache-2.0
#include "passes/groups.h"

#include <functional>
#include <queue>

namespace narrowgauge {

Groups::Groups(const Graph& graph) : graph_(graph), group_(graph.nodes().size(), -1) {}

int Groups::start(int node) {
  members_.push_back({node});
  return group_[static_cast<std::size_t>(node)] = count() - 1;
}

void Groups::join(int node, int group) {
  members_[static_cast<std::size_t>(group)].push_back(node);
  group_[static_cast<std::size_t>(node)] = group;
}

void Groups::dissolve(int group) {
  for (const int node : members(group)) group_[static_cast<std::size_t>(node)] = -1;
  members_[static_cast<std::size_t>(group)].clear();
}

// Whether the node, together with its whole group, depends on `group`.
bool Groups::reaches(int from_node, int group, std::vector<bool>& seen) const {
  if (group_of(from_node) == group) return true;
  if (seen[static_cast<std::size_t>(from_node)]) return false;
  const int own = group_of(from_node);
  const std::vector<int> alone{from_node};
  const std::vector<int>& unit = own < 0 ? alone : members(own);
  for (const int member : unit) seen[static_cast<std::size_t>(member)] = true;
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
  std::vector<bool> seen(group_.size());
  for (const Value& input : graph_.node(node).inputs)
    if (!input.is_absent() && group_of(input.node) != group && reaches(input.node, group, seen))
      return false;
  return true;
}

std::vector<int> Groups::order() const {
  const std::size_t nodes = group_.size();
  const auto unit_of = [&](int node) {
    const int group = group_of(node);
    return group < 0 ? node : members(group).back();
  };
  std::vector<std::vector<int>> followers(nodes);
  std::vector<int> waiting(nodes);
  for (int i = 0; i < static_cast<int>(nodes); ++i)
    for (const Value& input : graph_.node(i).inputs) {
      if (input.is_absent() || unit_of(input.node) == unit_of(i)) continue;
      followers[static_cast<std::size_t>(unit_of(input.node))].push_back(unit_of(i));
      ++waiting[static_cast<std::size_t>(unit_of(i))];
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < static_cast<int>(nodes); ++i)
    if (unit_of(i) == i && waiting[static_cast<std::size_t>(i)] == 0) ready.push(i);
  std::vector<int> result;
  while (!ready.empty()) {
    const int unit = ready.top();
    ready.pop();
    result.push_back(unit);
    for (const int next : followers[static_cast<std::size_t>(unit)])
      if (--waiting[static_cast<std::size_t>(next)] == 0) ready.push(next);
  }
  return result;
}

}  // namespace narrowgauge
