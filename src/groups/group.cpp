// SPDX-License-Identifier: Apache-2.0
#include "groups/group.h"

#include <algorithm>

#include "base/unloading.h"

namespace narrowgauge {

GroupMatch::GroupMatch(Region body, PartNodes nodes)
    : body_(std::move(body)), nodes_(std::move(nodes)) {}

int GroupMatch::input_of(Value value) const {
  const Values& inputs = body_->inputs();
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

const Tensor* GroupMatch::constant(Part part, std::size_t port) const {
  const Values& inputs = node(part).inputs;
  return port < inputs.size() && !inputs[port].is_absent() ? body_->constant_value(inputs[port])
                                                           : nullptr;
}

int GroupMatch::input(Part part, std::size_t port, std::size_t k) const {
  const Values& inputs = node(part, k).inputs;
  return port < inputs.size() && !inputs[port].is_absent() ? input_of(inputs[port]) : -1;
}

int GroupMatch::other(Part part) const {
  const Values& inputs = node(part).inputs;
  const auto is_inner = [&](Value value) {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const std::vector<int>& nodes) {
      return std::find(nodes.begin(), nodes.end(), value.node) != nodes.end();
    });
  };
  return input_of(inputs[is_inner(inputs[1]) ? 0 : 1]);
}

int GroupMatch::output(Part part, int port, std::size_t k) const {
  const std::vector<GraphOutput>& outputs = body_->outputs();
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const GraphOutput& output) {
    return output.value == Value{nodes_[part.place()][k], port};
  });
  return found == outputs.end() ? -1 : static_cast<int>(found - outputs.begin());
}

std::vector<int> GroupMatch::terms(Part sums, Part reader, std::size_t port) const {
  std::vector<int> all;
  const auto collect = [&](auto& self, Value value) -> void {
    const std::vector<int>& nodes = nodes_[sums.place()];
    if (std::find(nodes.begin(), nodes.end(), value.node) == nodes.end())
      return all.push_back(input_of(value));
    for (const Value& term : body_->node(value.node).inputs) self(self, term);
  };
  collect(collect, node(reader).inputs[port]);
  return all;
}

const std::vector<Group>& group_table() {
  static const auto& table = immortal<std::vector<Group>>([] {
    std::vector<Group> all = collected_groups();
    std::stable_sort(all.begin(), all.end(), [](const Group& a, const Group& b) {
      return a.pattern->size() > b.pattern->size();
    });
    return all;
  }());
  return table;
}

}  // namespace narrowgauge
