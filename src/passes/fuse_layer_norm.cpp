// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_layer_norm.h"

#include <algorithm>

#include "ops/math/arithmetic.h"
#include "ops/nn/dropout.h"
#include "ops/nn/layer_normalization.h"
#include "passes/fused_group.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_sums = 3;

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(readers_of(graph)), groups_(graph) {
    for (const State& state : graph.states()) leaving_.insert(state.next);
    for (const GraphOutput& output : graph.outputs()) leaving_.insert(output.value);
  }

  Groups find() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (graph_.node(i).is<LayerNormalization>()) join(before_norm(i));
      if (graph_.node(i).is<LayerNormalizationGradient>()) join(around_gradient(i));
    }
    return std::move(groups_);
  }

 private:
  const std::vector<int>& readers(Value value) const {
    return readers_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
  bool has_one_reader(Value value) const {
    return readers(value).size() == 1 && !leaving_.contains(value);
  }
  // Whether the value is an Add of two tensors of its own shape.
  bool is_plain_sum(Value value) const {
    const Node& node = graph_.producer(value);
    return node.is<Add>() && groups_.group_of(value.node) < 0 &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
             return graph_.type(input).shape == graph_.type(value).shape;
           });
  }

  std::vector<int> before_norm(int norm) const {
    const Value sum = graph_.node(norm).inputs[0];
    if (!is_plain_sum(sum)) return {};
    for (const Value term : graph_.producer(sum).inputs)
      if (term.output == 0 && graph_.producer(term).is<Dropout>() && has_one_reader(term) &&
          groups_.group_of(term.node) < 0)
        return {term.node, sum.node, norm};
    return {sum.node, norm};
  }

  // The members around a gradient: sums that only it reads, itself, and a dropout of its result.
  std::vector<int> around_gradient(int norm) const {
    std::vector<int> members;
    std::vector<Value> sums{graph_.node(norm).inputs[0]};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (members.size() == most_sums || !is_plain_sum(sums[i]) || !has_one_reader(sums[i]))
        continue;
      const Values& terms = graph_.producer(sums[i]).inputs;
      if (terms[0] == terms[1]) continue;
      members.push_back(sums[i].node);
      sums.insert(sums.end(), terms.begin(), terms.end());
    }
    members.push_back(norm);
    for (const int reader : readers({norm, 0}))
      if (const Node& node = graph_.node(reader);
          node.is<DropoutGradient>() && node.inputs[0] == Value{norm, 0}) {
        members.push_back(reader);
        break;
      }
    std::sort(members.begin(), members.end());
    return members.size() > 1 ? members : std::vector<int>{};
  }

  void join(const std::vector<int>& members) {
    if (members.empty()) return;
    const int group = groups_.start(members[0]);
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (!groups_.can_join(members[i], group)) return groups_.dissolve(group);
      groups_.join(members[i], group);
    }
  }

  const Graph& graph_;
  std::vector<std::vector<std::vector<int>>> readers_;
  std::set<Value> leaving_;
  Groups groups_;
};

}  // namespace

Graph fuse_layer_norm(const Graph& graph, const Target& target) {
  return fuse_groups(graph, Finder(graph).find(), target);
}

}  // namespace narrowgauge
