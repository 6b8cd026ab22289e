// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/groups.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace narrowgauge {

Groups::Groups(const Graph& graph)
    : graph_(graph),
      group_(graph.nodes().size(), -1),
      line_(graph.nodes().size()),
      place_(graph.nodes().size()),
      needed_by_(graph.nodes().size(), 0) {
  for (int node = 0; node < line_.size(); ++node) line_[node] = place_[node] = node;
}

int Groups::start(int node) { return group_[node] = members_.add({node}); }

void Groups::dissolve(int group) {
  for (const int node : members(group)) group_[node] = -1;
  members_[group].clear();
}

// Marks the node, with its whole group, unless it is known already.
void Groups::need(int node) const {
  const auto mark = [&](int member) {
    needed_by_[member] = search_;
    open_.push({place_[member], member});
  };
  if (is_needed(node)) return;
  if (group_of(node) < 0)
    mark(node);
  else
    std::ranges::for_each(members(group_of(node)), mark);
}

// What stands first in the line is followed first: where there is a detour, as between the passes
// forward and back, a few steps then lead to the earlier unit, however long the network is.
Groups::Gap Groups::gap_between(int node, int group) const {
  const std::vector<int>& unit = members(group);
  int first = line_.size();
  for (const int member : unit) first = std::min(first, place_[member]);
  const int behind = first + static_cast<int>(unit.size()), place = place_[node];
  Gap gap =
      place < first ? Gap{place, place + 1, first, behind} : Gap{first, behind, place, place + 1};
  ++search_;
  open_ = {};
  for (int at = gap.end; at < gap.last; ++at)
    for (const Value& input : graph_.node(line_[at]).inputs) {
      const int from = input.is_absent() ? -1 : place_[input.node];
      if (from >= gap.begin && from < gap.end) need(input.node);
    }
  while (!open_.empty() && !gap.is_detour) {
    const int reader = open_.top().second;
    open_.pop();
    for (const Value& input : graph_.node(reader).inputs) {
      const int from = input.is_absent() ? -1 : place_[input.node];
      if (from >= gap.begin) need(input.node);
      gap.is_detour |= from >= gap.first && from < gap.begin;
    }
  }
  return gap;
}

bool Groups::can_join(int node, int group) const { return !gap_between(node, group).is_detour; }

// Both units meet between what the later one needs and all else that stood between them.
void Groups::join(int node, int group) {
  const Gap gap = gap_between(node, group);
  NG_INVARIANT(!gap.is_detour);
  std::vector<int> needed, others;
  for (int at = gap.begin; at < gap.end; ++at)
    (is_needed(line_[at]) ? needed : others).push_back(line_[at]);
  for (int at = gap.first; at < gap.begin; ++at) needed.push_back(line_[at]);
  for (int at = gap.end; at < gap.last; ++at) needed.push_back(line_[at]);
  needed.insert(needed.end(), others.begin(), others.end());
  int at = gap.first;
  for (const int moved : needed) {
    place_[moved] = at;
    line_[at++] = moved;
  }
  members_[group].push_back(node);
  group_[node] = group;
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
