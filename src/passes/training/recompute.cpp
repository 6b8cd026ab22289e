// SPDX-License-Identifier: Apache-2.0
#include "passes/training/recompute.h"

#include <algorithm>
#include <vector>

#include "base/indexed_vector.h"
#include "passes/core/rebuild.h"

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
  bool lacks_clone(Value value) const {
    return !value.is_absent() && chosen_[value.node] && clone_[value.node] < 0;
  }

  // Clones chains of chosen nodes as a whole, from the last kept value on.
  Value for_backward(Value value) {
    std::vector<int> open;
    if (lacks_clone(value)) open.push_back(value.node);
    while (!open.empty()) {
      const int index = open.back();
      const Values& inputs = graph_.node(index).inputs;
      const auto first = std::ranges::find_if(inputs, [&](Value v) { return lacks_clone(v); });
      if (first != inputs.end()) {
        open.push_back(first->node);
        continue;
      }
      clone(index);
      open.pop_back();
    }
    if (value.is_absent() || !chosen_[value.node]) return rebuild_.mapped(value);
    return {clone_[value.node], value.output};
  }

  // Clones a node whose inputs are kept or cloned.
  void clone(int index) {
    const Node& node = graph_.node(index);
    Values inputs;
    for (const Value input : node.inputs)
      inputs.push_back(input.is_absent() || !chosen_[input.node]
                           ? rebuild_.mapped(input)
                           : Value{clone_[input.node], input.output});
    NodeOptions options = options_of(node);
    ++options.instance;
    options.origin = node.full_name();
    options.phase = Phase::backward;
    clone_[index] =
        rebuild_.graph().add(*node.op, node.attributes, inputs, std::move(options)).node;
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
