// SPDX-License-Identifier: Apache-2.0
// Plans whose nodes are decided one after another, in the order of the graph, as PyTorch and apex
// dispatch them: a node can go by the formats of what it reads, and by nothing that comes later.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "precision/plans/overrides.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {

// What is decided about a node.
struct FormatChoice {
  DType dtype = DType::f32;
  PrecisionRule rule = PrecisionRule::reads_f32;
  PrecisionClass precision = PrecisionClass::unlisted;
  std::string note{};
};

// The entries of a plan with the vertices that they are of.
class FormatsSoFar {
 public:
  FormatsSoFar(std::span<const PrecisionVertex> vertices, const std::vector<PlanEntry>& entries);
  // The widest format of the values at the ports whose format is chosen, constants aside: f32 also
  // where two narrow formats meet, and where there is nothing to go by.
  DType widest_read_by(const PrecisionVertex& vertex) const;

 private:
  DType format_of(const Graph& graph, Value value) const;
  std::span<const PrecisionVertex> vertices_;
  const std::vector<PlanEntry>& entries_;  // of the first vertices; those that follow are to come
  std::map<const Node*, std::size_t> places_;
};

// Ops that are computed in a narrow format and ops that are computed in f32, by their full names; a
// gradient ("ng.SoftmaxGradient") is on the list of its op. All ops of the class `allow` are on the
// first list. An op on neither takes the widest format that it reads.
struct DispatchLists {
  std::span<const std::string_view> narrow, f32;
  std::string_view whose;  // "PyTorch's"
};
FormatChoice dispatch(const PrecisionVertex& vertex, DType narrow, const DispatchLists& lists,
                      const FormatsSoFar& formats,
                      std::optional<PrecisionClass> override_class = {});

// Decides about a vertex that has a choice and no override; `overridden` is the class that an
// override gives it.
using Decide =
    std::function<FormatChoice(const PrecisionVertex& vertex, const FormatsSoFar& formats,
                               std::optional<PrecisionClass> overridden)>;
// Overrides by format decide before `decide`. What makes an output of the graph stays in f32, and
// so does an op that does not take the format chosen. Throws UsageError as colour_by_lists() does.
PrecisionPlan plan_node_by_node(const Graph& f32_graph, const PrecisionRequest& wanted,
                                const Decide& decide);

}  // namespace narrowgauge
