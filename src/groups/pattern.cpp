// SPDX-License-Identifier: Apache-2.0
#include "groups/pattern.h"

#include <algorithm>

#include "groups/pattern_matcher.h"

namespace narrowgauge {

std::vector<int> members_of(const PartNodes& nodes) {
  std::vector<int> all;
  for (const std::vector<int>& part : nodes) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}

Part GroupPattern::add(const OpRecord& op, Count count, std::size_t most, std::vector<Edge> edges) {
  parts_.push_back({&op, count, most, std::move(edges)});
  return {static_cast<int>(parts_.size()) - 1};
}

// Whether every part that is present has something to read at each edge.
bool GroupPattern::is_possible(const std::vector<bool>& present) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (const Edge& edge : parts_[p].edges) {
      const bool fed = std::any_of(edge.sources.begin(), edge.sources.end(), [&](Part source) {
        return source == outside || present[source.place()];
      });
      if (present[p] && !fed) return false;
    }
  return true;
}

// The sets of parts to look for, in the order of preference.
std::vector<std::vector<bool>> GroupPattern::selections() const {
  std::vector<std::size_t> optional;
  for (const Part part : preference_) optional.push_back(part.place());
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].is_optional() && std::find(optional.begin(), optional.end(), p) == optional.end())
      optional.push_back(p);
  std::vector<std::vector<bool>> all;
  for (std::size_t left_out = 0; left_out < std::size_t{1} << optional.size(); ++left_out) {
    std::vector<bool> present(parts_.size(), true);
    for (std::size_t i = 0; i < optional.size(); ++i)
      present[optional[i]] = (left_out >> (optional.size() - 1 - i) & 1) == 0;
    if (is_possible(present)) all.push_back(std::move(present));
  }
  return all;
}

void GroupPattern::for_each_match(const PatternScope& scope, int node,
                                  const std::function<bool(const PartNodes&)>& done) const {
  for (std::vector<bool>& present : selections()) {
    const std::optional<PartNodes> found =
        PatternMatcher(*this, scope, std::move(present)).match(node);
    if (found && members_of(*found).size() > 1 && done(*found)) return;
  }
}

std::optional<PartNodes> GroupPattern::match_whole(const Graph& body) const {
  std::vector<int> working;
  for (int i = 0; i < static_cast<int>(body.nodes().size()); ++i)
    if (!body.node(i).is<Input>() && !body.node(i).is<Constant>()) working.push_back(i);
  const auto first = std::find_if(working.begin(), working.end(),
                                  [&](int i) { return body.node(i).op == &anchor_op(); });
  if (first == working.end()) return {};
  const Readers readers(body);
  const PatternScope scope{body, readers, [&](int node) {
                             return std::binary_search(working.begin(), working.end(), node);
                           }};
  std::optional<PartNodes> whole;
  for_each_match(scope, *first, [&](const PartNodes& found) {
    if (members_of(found) == working) whole = found;
    return whole.has_value();
  });
  return whole;
}

}  // namespace narrowgauge
