// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_normalization.h"

#include <algorithm>

#include "kernels/cpu/batch_inner.h"
#include "ops/arithmetic.h"
#include "ops/batch_normalization.h"
#include "ops/conv.h"
#include "ops/relu.h"
#include "passes/fused_group.h"

namespace narrowgauge {

namespace {

using Members = std::vector<int>;  // in their order

class NormalizationFuser {
 public:
  explicit NormalizationFuser(const Graph& graph)
      : graph_(graph), readers_(readers_of(graph)), groups_(graph) {
    for (const State& state : graph.states()) leaving_.insert(state.next);
    for (const GraphOutput& output : graph.outputs()) leaving_.insert(output.value);
  }

  Graph run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (groups_.group_of(i) >= 0) continue;
      if (graph_.node(i).is<BatchNormalization>()) form(forward_groups(i));
      if (graph_.node(i).is<BatchNormalizationGradient>()) form(backward_groups(i));
    }
    return fuse_groups(graph_, std::move(groups_));
  }

 private:
  const std::vector<int>& readers(Value value) const {
    return readers_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
  // The node that reads a value, where there is just one and the value does not leave the graph.
  int only_reader(Value value) const {
    return readers(value).size() == 1 && !leaving_.contains(value) ? readers(value)[0] : -1;
  }
  bool is_free(int node) const { return node >= 0 && groups_.group_of(node) < 0; }
  template <class Op>
  bool is(int node) const {
    return is_free(node) && graph_.node(node).is<Op>();
  }

  // Largest first.
  std::vector<Members> forward_groups(int norm) const {
    Members tail;
    int next = only_reader({norm, 0});
    if (is<Add>(next)) {
      tail.push_back(next);
      next = only_reader({next, 0});
    }
    if (is<Relu>(next))
      tail.push_back(next);
    else
      tail.clear();
    const int source = graph_.node(norm).inputs[0].node;
    std::vector<Members> choices;
    if (is<Conv>(source)) {
      choices.push_back({source, norm});
      choices[0].insert(choices[0].end(), tail.begin(), tail.end());
    }
    if (!tail.empty()) {
      choices.push_back({norm});
      choices.back().insert(choices.back().end(), tail.begin(), tail.end());
    }
    if (choices.size() == 2) choices.push_back({source, norm});
    return choices;
  }

  // The chain that ends in a normalization's gradient, and others that read what it reads.
  std::vector<Members> backward_groups(int norm) const {
    const Value slope = graph_.node(norm).inputs[0];
    Members chain, normalizations;
    int at = slope.node;
    if (is<ReluGradient>(at)) {
      chain.push_back(at);
      at = passing_to(graph_.node(at).inputs[1], at);
    }
    if (is<Add>(at)) {
      const Values& inputs = graph_.node(at).inputs;
      const int sum = at;
      chain.push_back(sum);
      at = std::max(convolution_of(inputs[0], sum), convolution_of(inputs[1], sum));
    }
    if (is<ConvDataGradient>(at)) chain.push_back(at);
    std::reverse(chain.begin(), chain.end());
    for (const int reader : readers(slope))
      if (is<BatchNormalizationGradient>(reader) && reads_as_slope(reader, slope) &&
          normalizations.size() < cpu::Slopes::most)
        normalizations.push_back(reader);
    std::vector<Members> choices;
    for (; !chain.empty(); chain.erase(chain.begin())) {
      choices.push_back(chain);
      choices.back().insert(choices.back().end(), normalizations.begin(), normalizations.end());
    }
    return choices;
  }

  // The producer of a value that only `reader` reads, or -1.
  int passing_to(Value value, int reader) const {
    return only_reader(value) == reader ? value.node : -1;
  }
  int convolution_of(Value value, int reader) const {
    const int node = passing_to(value, reader);
    return is<ConvDataGradient>(node) ? node : -1;
  }
  bool reads_as_slope(int reader, Value slope) const {
    return graph_.node(reader).inputs[0] == slope;
  }

  // The first choice that is convex and that a kernel takes.
  void form(const std::vector<Members>& choices) {
    for (const Members& members : choices) {
      const int group = groups_.start(members[0]);
      bool whole = true;
      for (std::size_t i = 1; i < members.size() && whole; ++i) {
        whole = groups_.can_join(members[i], group);
        if (whole) groups_.join(members[i], group);
      }
      if (whole && is_offered(graph_, build_group(graph_, members, read_outside(members)))) return;
      groups_.dissolve(group);
    }
  }

  std::set<Value> read_outside(const Members& members) const {
    std::set<Value> read;
    for (const int member : members)
      for (int o = 0; o < static_cast<int>(graph_.node(member).outputs.size()); ++o) {
        const std::vector<int>& all = readers({member, o});
        const bool outside = std::any_of(all.begin(), all.end(), [&](int reader) {
          return std::find(members.begin(), members.end(), reader) == members.end();
        });
        if (outside || leaving_.contains({member, o})) read.insert({member, o});
      }
    return read;
  }

  const Graph& graph_;
  const std::vector<std::vector<std::vector<int>>> readers_;
  std::set<Value> leaving_;
  Groups groups_;
};

}  // namespace

Graph fuse_normalization(const Graph& graph) { return NormalizationFuser(graph).run(); }

}  // namespace narrowgauge
