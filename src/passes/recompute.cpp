// SPDX-License-Identifier: Apache-2.0
#include "passes/recompute.h"

#include "base/indexed_vector.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

bool is_forward(const Node& node) { return node.phase == Phase::forward; }

class Recomputer {
 public:
  Recomputer(const Graph& graph, const std::function<bool(const Node&)>& chosen)
      : graph_(graph), rebuild_(graph), clone_(graph.nodes().size(), -1) {
    for (const Node& node : graph.nodes())
      chosen_.add(is_forward(node) && !node.inputs.empty() && chosen(node));
  }

  Graph run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      const Node& node = graph_.node(i);
      if (is_forward(node)) {
        rebuild_.copy(i);
        continue;
      }
      Values inputs;
      for (const Value& value : node.inputs) inputs.push_back(for_backward(value));
      rebuild_.copy(i, node.attributes, inputs);
    }
    return rebuild_.finish();
  }

 private:
  // Clones chains of chosen nodes as a whole, from the last kept value on.
  Value for_backward(Value value) {
    if (value.is_absent()) return absent;
    if (!chosen_[value.node]) return rebuild_.mapped(value);
    int& clone = clone_[value.node];
    if (clone < 0) {
      const Node& node = graph_.node(value.node);
      Values inputs;
      for (const Value& input : node.inputs) inputs.push_back(for_backward(input));
      NodeOptions options = options_of(node);
      ++options.instance;
      options.origin = node.full_name();
      options.phase = Phase::backward;
      clone = rebuild_.graph().add(*node.op, node.attributes, inputs, std::move(options)).node;
    }
    return {clone, value.output};
  }

  const Graph& graph_;
  Rebuild rebuild_;
  IndexedVector<int, int> clone_;
  IndexedVector<int, bool> chosen_;
};

}  // namespace

Graph recompute(const Graph& graph, const std::function<bool(const Node&)>& chosen) {
  return Recomputer(graph, chosen).run();
}

}  // namespace narrowgauge
