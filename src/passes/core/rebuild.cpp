// SPDX-License-Identifier: Apache-2.0
#include "passes/core/rebuild.h"

#include <utility>

#include "ir/attributes.h"

namespace narrowgauge {

Rebuild::Rebuild(const Graph& source, Graph begun)
    : source_(source), graph_(std::move(begun)), map_(source, absent) {
  graph_.keep_names_for(source);
}

Value Rebuild::mapped(Value old) const {
  if (old.is_absent()) return absent;
  const Value now = map_[old];
  require<InternalError>(!now.is_absent(), "graph ", source_.name(), ": value '",
                         source_.value_name(old), "' was dropped but is read");
  return now;
}

Values Rebuild::mapped(const Values& old) const {
  Values now;
  now.reserve(old.size());
  for (const Value& value : old) now.push_back(mapped(value));
  return now;
}

bool Rebuild::has(Value old) const { return !map_[old].is_absent(); }

void Rebuild::map(Value old, Value now) { map_[old] = now; }

void Rebuild::copy(int index) {
  copy(index, source_.node(index).attributes, mapped(source_.node(index).inputs));
}

void Rebuild::copy(int index, Attributes attributes, Values inputs) {
  const Node& node = source_.node(index);
  Value made;
  if (node.is<Input>()) {
    made = graph_.input(node.name, attributes.as<Input>().type);
  } else if (node.is<StateValue>()) {
    const State* known = source_.find_state(node.name);
    require(known, "graph ", source_.name(), ": node '", node.name, "' belongs to no state");
    State state = *known;
    state.type = attributes.as<StateValue>().type;
    made = graph_.state(std::move(state));
  } else {
    made = graph_.add(*node.op, std::move(attributes), std::move(inputs), options_of(node));
  }
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) map({index, o}, {made.node, o});
}

Graph Rebuild::finish() {
  for (const State& state : source_.states())
    if (has(state.current)) graph_.set_next(state.name, mapped(state.next));
  for (const GraphOutput& output : source_.outputs())
    graph_.output(output.name, mapped(output.value));
  return std::move(graph_);
}

std::vector<FileNode> nodes_in_file(const Node& node) {
  return node.file_nodes.empty() ? std::vector{FileNode{node.name, node.name}} : node.file_nodes;
}

Attributes with_regions(const Node& node, const std::function<Graph(const Graph&)>& pass) {
  if (regions_of(node).empty()) return node.attributes;
  return map_regions(*node.op, node.attributes, [&](const Region& region) {
    return std::make_shared<const Graph>(pass(*region));
  });
}

}  // namespace narrowgauge
