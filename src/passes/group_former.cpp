// SPDX-License-Identifier: Apache-2.0
#include "passes/group_former.h"

#include <algorithm>

namespace narrowgauge {

GroupFormer::GroupFormer(const Graph& graph, const Target& target)
    : graph_(graph), target_(target), readers_(readers_of(graph)), groups_(graph) {
  for (const State& state : graph.states()) leaving_.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) leaving_.insert(output.value);
}

const std::vector<int>& GroupFormer::readers(Value value) const {
  return readers_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

int GroupFormer::only_reader(Value value) const {
  return readers(value).size() == 1 && !leaving_.contains(value) ? readers(value)[0] : -1;
}

int GroupFormer::passing_to(Value value, int reader) const {
  return only_reader(value) == reader ? value.node : -1;
}

void GroupFormer::form(const std::vector<Members>& choices) {
  for (const Members& members : choices) {
    const int group = groups_.start(members[0]);
    bool whole = true;
    for (std::size_t i = 1; i < members.size() && whole; ++i) {
      whole = groups_.can_join(members[i], group);
      if (whole) groups_.join(members[i], group);
    }
    if (whole && is_taken(members)) return;
    groups_.dissolve(group);
  }
}

bool GroupFormer::is_taken(const Members& members) const {
  return is_offered(graph_, build_group(graph_, members, read_outside(members)), target_);
}

std::set<Value> GroupFormer::read_outside(const Members& members) const {
  std::set<Value> read;
  for (const int member : members)
    for (int o = 0; o < static_cast<int>(graph_.node(member).outputs.size()); ++o) {
      const std::vector<int>& all = readers({member, o});
      const bool outside = std::any_of(all.begin(), all.end(), [&](int reader) {
        return std::find(members.begin(), members.end(), reader) == members.end();
      });
      if (outside || leaving_.contains({member, o})) read.insert({member, o});
    }
  return read;
}

}  // namespace narrowgauge
