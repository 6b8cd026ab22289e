// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/whole_network.h"

#include <algorithm>

#include "base/indexed_vector.h"

namespace narrowgauge {

namespace {

// Which nodes of a graph belong to the network itself.
class NetworkPart {
 public:
  explicit NetworkPart(const Graph& graph)
      : graph_(graph), inside_(count()), feeds_outside_(count()) {
    find_forward();
    find_backward();
  }

  bool contains(const Node& node) const {
    return inside_[static_cast<int>(&node - graph_.nodes().data())];
  }

 private:
  int count() const { return static_cast<int>(graph_.nodes().size()); }

  bool reads_state(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](Value value) {
      return !value.is_absent() && graph_.producer(value).is<StateValue>();
    });
  }

  // Nodes that read parameters or statistics, and all from which such nodes are reached.
  void find_forward() {
    for (int i = count() - 1; i >= 0; --i) {
      const Node& node = graph_.node(i);
      if (node.phase != Phase::forward) continue;
      inside_[i] = inside_[i] || reads_state(node);
      for (const Value input : node.inputs)
        if (!input.is_absent()) (inside_[i] ? inside_ : feeds_outside_)[input.node] = true;
    }
  }

  // Nodes that read parameters, or values of the network that it does not give out.
  void find_backward() {
    for (int i = 0; i < count(); ++i) {
      const Node& node = graph_.node(i);
      if (node.phase != Phase::backward) continue;
      inside_[i] = reads_state(node) || std::ranges::any_of(node.inputs, [&](Value value) {
                     return !value.is_absent() && !is_source(graph_.producer(value)) &&
                            inside_[value.node] && !feeds_outside_[value.node];
                   });
    }
  }

  const Graph& graph_;
  IndexedVector<int, bool> inside_, feeds_outside_;
};

}  // namespace

PrecisionPlan cast_whole_network(const Graph& f32_graph, const PrecisionRequest& wanted) {
  const NetworkPart network(f32_graph);
  const auto decide = [&](const PrecisionVertex& vertex, const FormatsSoFar&,
                          std::optional<PrecisionClass> overridden) -> FormatChoice {
    if (overridden == PrecisionClass::deny || overridden == PrecisionClass::unlisted)
      return {DType::f32, PrecisionRule::deny_list, *overridden};
    const bool in_region = vertex.graph != &f32_graph;
    if (overridden == PrecisionClass::allow || in_region || network.contains(*vertex.node))
      return {wanted.narrow, PrecisionRule::whole_network, PrecisionClass::allow};
    return {DType::f32, PrecisionRule::after_network};
  };
  return plan_node_by_node(f32_graph, wanted, decide);
}

}  // namespace narrowgauge
