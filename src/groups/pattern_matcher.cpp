// SPDX-License-Identifier: Apache-2.0
#include "groups/pattern_matcher.h"

#include <algorithm>

#include "base/enumerate.h"

namespace narrowgauge {

using Count = GroupPattern::Count;
using Edge = GroupPattern::Edge;
constexpr Part outside = GroupPattern::outside;
constexpr int either = GroupPattern::either;

PatternMatcher::PatternMatcher(const GroupPattern& pattern, const PatternScope& scope,
                               std::vector<bool> present)
    : pattern_(pattern),
      scope_(scope),
      present_(std::move(present)),
      nodes_(pattern.parts_.size()) {}

std::optional<PartNodes> PatternMatcher::match(int anchor) {
  if (!begin(anchor) || !extend()) return {};
  return std::move(nodes_);
}

// Takes the anchor, and where it may be several nodes all that read what it reads.
bool PatternMatcher::begin(int anchor) {
  const auto part = pattern_.anchor_.place();
  if (!takes(part, anchor)) return false;
  nodes_[part] = {anchor};
  const GroupPattern::Definition& definition = pattern_.parts_[part];
  if (definition.count != Count::several) return true;
  const int port = definition.edges[0].port;
  const Value value = scope_.graph.node(anchor).input(port);
  std::vector<int> all;
  for (const int reader : scope_.readers.of(value))
    if (all.size() < definition.most && (reader == anchor || takes(part, reader)) &&
        reads_at(reader, port, value))
      all.push_back(reader);
  nodes_[part] = std::move(all);
  return std::find(nodes_[part].begin(), nodes_[part].end(), anchor) != nodes_[part].end();
}

// Takes nodes for a part that is joined to one already taken, then all others; goes back where no
// choice fits.
bool PatternMatcher::extend() {
  bool complete = true;
  for (std::size_t part = 0; part < nodes_.size(); ++part) {
    if (!present_[part] || !nodes_[part].empty()) continue;
    complete = false;
    const std::optional<Choices> found = choices(part);
    if (!found) continue;
    for (const std::vector<int>& choice : *found) {
      nodes_[part] = choice;
      if (extend()) return true;
    }
    nodes_[part].clear();
    return false;
  }
  return complete && is_right();
}

// The nodes that may be a part; nothing where no part already taken is joined to it.
std::optional<PatternMatcher::Choices> PatternMatcher::choices(std::size_t part) const {
  const Part self{static_cast<int>(part)};
  for (std::size_t reader = 0; reader < nodes_.size(); ++reader)
    if (!nodes_[reader].empty())
      for (const Edge& edge : pattern_.parts_[reader].edges)
        if (source_of(edge) == self) return made_for(part, reader, edge);
  for (const Edge& edge : pattern_.parts_[part].edges)
    if (const Part source = source_of(edge); source != outside && !nodes_[source.place()].empty())
      return readers_of(part, edge, source);
  return {};
}

// The producers of what a reader already taken reads at an edge; of two, the one computed later
// first, since it is nearer.
PatternMatcher::Choices PatternMatcher::made_for(std::size_t part, std::size_t reader,
                                                 const Edge& edge) const {
  Choices all;
  const int node = nodes_[reader].front();
  for (const auto& [port, value] : enumerate(scope_.graph.node(node).inputs)) {
    if ((edge.port != either && edge.port != port) || value.is_absent() || value.output != 0)
      continue;
    if (pattern_.parts_[part].count == Count::sum) {
      std::vector<int> tree = sum_tree(part, value, node);
      if (!tree.empty()) all.push_back(std::move(tree));
    } else if (takes(part, value.node)) {
      all.push_back({value.node});
    }
  }
  std::sort(all.rbegin(), all.rend());
  return all;
}

// The readers of a part already taken.
PatternMatcher::Choices PatternMatcher::readers_of(std::size_t part, const Edge& edge,
                                                   Part source) const {
  Choices all;
  if (nodes_[source.place()].size() > 1 && pattern_.part(source).count == Count::several)
    return all;
  const Value value = result_of(source);
  for (const int reader : scope_.readers.of(value))
    if (takes(part, reader) && reads_at(reader, edge.port, value)) all.push_back({reader});
  return all;
}

// The sums that nobody but the reader, or another of them, reads.
std::vector<int> PatternMatcher::sum_tree(std::size_t part, Value value, int reader) const {
  std::vector<int> tree;
  std::vector<std::pair<Value, int>> terms{{value, reader}};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto [term, of] = terms[i];
    if (tree.size() == pattern_.parts_[part].most || term.is_absent() || !takes(part, term.node) ||
        scope_.readers.only(term) != of)
      continue;
    const Values& inputs = scope_.graph.node(term.node).inputs;
    if (inputs[0] == inputs[1]) continue;
    tree.push_back(term.node);
    for (const Value& input : inputs) terms.emplace_back(input, term.node);
  }
  return tree;
}

bool PatternMatcher::is_right() const {
  for (std::size_t part = 0; part < nodes_.size(); ++part) {
    if (pattern_.parts_[part].count == Count::sum) continue;
    for (const int node : nodes_[part])
      if (!is_fed(part, node)) return false;
  }
  return true;
}

// Whether a node reads its sources, and all else from outside.
bool PatternMatcher::is_fed(std::size_t part, int node) const {
  const std::vector<Edge>& edges = pattern_.parts_[part].edges;
  std::ptrdiff_t inner = 0;
  for (const Edge& edge : edges) {
    if (!is_edge_right(edge, node)) return false;
    inner += source_of(edge) != outside;
  }
  const Values& inputs = scope_.graph.node(node).inputs;
  const auto from_members = std::count_if(inputs.begin(), inputs.end(), [&](const Value& value) {
    return !value.is_absent() && is_member(value.node);
  });
  return from_members == inner;
}

bool PatternMatcher::is_edge_right(const Edge& edge, int node) const {
  const Part source = source_of(edge);
  if (source == outside) return true;
  const Value value = result_of(source);
  return reads_at(node, edge.port, value) && (edge.is_shared || stays_inside(value));
}

bool PatternMatcher::takes(std::size_t part, int node) const {
  const GroupPattern::Definition& definition = pattern_.parts_[part];
  const Node& candidate = scope_.graph.node(node);
  return candidate.op == definition.op && scope_.is_free(node) && !is_member(node) &&
         (!definition.condition || definition.condition(scope_.graph, candidate));
}

bool PatternMatcher::is_member(int node) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const std::vector<int>& nodes) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  });
}

bool PatternMatcher::reads_at(int node, int port, Value value) const {
  if (port != either) return scope_.graph.node(node).input(port) == value;
  const Values& inputs = scope_.graph.node(node).inputs;
  return inputs.size() == 2 && (inputs[0] == value) != (inputs[1] == value);
}

bool PatternMatcher::stays_inside(Value value) const {
  const std::vector<int>& readers = scope_.readers.of(value);
  return !scope_.readers.leaves(value) &&
         std::all_of(readers.begin(), readers.end(), [&](int reader) { return is_member(reader); });
}

// The part that an edge reads in this selection, or `outside`.
Part PatternMatcher::source_of(const Edge& edge) const {
  const auto found = std::find_if(edge.sources.begin(), edge.sources.end(), [&](Part source) {
    return source == outside || present_[source.place()];
  });
  return found == edge.sources.end() ? outside : *found;
}

Value PatternMatcher::result_of(Part part) const { return {nodes_[part.place()].front(), 0}; }

}  // namespace narrowgauge
