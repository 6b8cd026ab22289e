// SPDX-License-Identifier: Apache-2.0
#include "passes/forms/joined_names.h"

#include <algorithm>

#include "base/enumerate.h"

namespace narrowgauge {

namespace {

// Sizes are computed from values that have no part in the form.
bool is_size(const Graph& graph, Value value) { return is_integer(graph.type(value).dtype); }

}  // namespace

void JoinedNames::add(const Made& made, const Node& part) {
  for (int i = made.first; i < made.last; ++i)
    for (FileNode& name : nodes_in_file(part)) {
      std::vector<FileNode>& known = names_[i];
      if (std::ranges::find(known, name) == known.end()) known.push_back(std::move(name));
    }
}

// Whether the new nodes read what a value of the old graph became, or the inside of what it became.
bool JoinedNames::is_read(Value old, const std::set<Value>& read) const {
  if (read.contains(rebuild_.mapped(old))) return true;
  const auto made = made_.find(old.node);
  return made != made_.end() && std::ranges::any_of(read, [&](Value value) {
           return value.node >= made->second.first && value.node < made->second.last;
         });
}

// Parts of the form are what the old graph computed between the values that the new nodes read and
// the end.
void JoinedNames::join(int end, int first, Value value) {
  const Graph &old = rebuild_.source(), &graph = rebuild_.graph();
  const Made made{first, static_cast<int>(graph.nodes().size())};
  if (made.first == made.last) {
    // A Transpose or Reshape that undoes another has a place only in the form around it.
    for (const auto& [node, before] : made_)
      if (value.node >= before.first && value.node < before.last) return add(before, old.node(end));
    return;
  }
  std::set<Value> read;
  for (int i = made.first; i < made.last; ++i)
    for (const Value input : graph.node(i).inputs)
      if (!input.is_absent() && input.node < made.first) read.insert(input);
  std::set<int> parts{end};
  for (std::vector<int> open{end}; !open.empty();) {
    const int node = open.back();
    open.pop_back();
    for (const Value input : old.node(node).inputs) {
      const bool outside = input.is_absent() || is_source(old.producer(input)) ||
                           is_size(old, input) || is_read(input, read);
      if (outside) continue;
      if (parts.insert(input.node).second) open.push_back(input.node);
    }
  }
  for (const int part : parts) add(made, old.node(part));
  made_.emplace(end, made);
}

Graph JoinedNames::given_to(const Graph& made) const {
  Rebuild rebuild(made);
  for (const auto& [i, node] : enumerate(made.nodes())) {
    const auto names = names_.find(static_cast<int>(i));
    if (names == names_.end()) {
      rebuild.copy(i);
      continue;
    }
    NodeOptions options = options_of(node);
    options.file_nodes = names->second;
    const Value first =
        rebuild.graph().add(*node.op, node.attributes, rebuild.mapped(node.inputs), options);
    for (int o = 0; o < std::ssize(node.outputs); ++o) rebuild.map({i, o}, {first.node, o});
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
