// SPDX-License-Identifier: Apache-2.0
// The search for the nodes of a pattern of which it is settled which parts are present.
#pragma once

#include <optional>
#include <vector>

#include "groups/pattern.h"

namespace narrowgauge {

class PatternMatcher {
 public:
  PatternMatcher(const GroupPattern& pattern, const PatternScope& scope, std::vector<bool> present);

  std::optional<PartNodes> match(int anchor);

 private:
  using Choices = std::vector<std::vector<int>>;

  bool begin(int anchor);
  bool extend();
  std::optional<Choices> choices(std::size_t part) const;
  Choices made_for(std::size_t part, std::size_t reader, const GroupPattern::Edge& edge) const;
  Choices readers_of(std::size_t part, const GroupPattern::Edge& edge, Part source) const;
  std::vector<int> sum_tree(std::size_t part, Value value, int reader) const;

  bool is_right() const;
  bool is_fed(std::size_t part, int node) const;
  bool is_edge_right(const GroupPattern::Edge& edge, int node) const;

  bool takes(std::size_t part, int node) const;
  bool is_member(int node) const;
  bool reads_at(int node, int port, Value value) const;
  bool stays_inside(Value value) const;
  Part source_of(const GroupPattern::Edge& edge) const;
  Value result_of(Part part) const;

  const GroupPattern& pattern_;
  const PatternScope& scope_;
  std::vector<bool> present_;
  PartNodes nodes_;
};

}  // namespace narrowgauge
