// SPDX-License-Identifier: Apache-2.0
#include "passes/batch_statistics.h"

#include <map>

#include "ops/nn/batch_normalization.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

constexpr int mean_port = 3, variance_port = 4;

bool has_given_statistics(const Graph& graph, const Node& node) {
  if (!node.is<BatchNormalization>() || node.as<BatchNormalization>().training_mode != 0)
    return false;
  return graph.constant_value(node.inputs[mean_port]) &&
         graph.constant_value(node.inputs[variance_port]);
}

class Statistics {
 public:
  Statistics(const Graph& source, bool training) : rebuild_(source), training_(training) {
    for (const Node& node : source.nodes())
      for (const Value input : node.inputs) ++uses_[input];
    for (const GraphOutput& output : source.outputs()) ++uses_[output.value];
  }

  Graph run() {
    const Graph& source = rebuild_.source();
    for (const Node& node : source.nodes())
      if (has_given_statistics(source, node)) count_statistics(node);
    for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
      if (has_given_statistics(source, source.node(i)))
        normalize(i);
      else if (statistics_[{i, 0}] == 0 || statistics_[{i, 0}] < uses_[{i, 0}])
        rebuild_.copy(i);
    }
    return rebuild_.finish();
  }

 private:
  void count_statistics(const Node& node) {
    ++statistics_[node.inputs[mean_port]];
    ++statistics_[node.inputs[variance_port]];
  }

  // A file may give one variance to several normalizations: each then has running averages of its
  // own.
  Value statistic(Value constant) {
    Graph& graph = rebuild_.graph();
    const Tensor& value = *rebuild_.source().constant_value(constant);
    State state;
    state.name = graph.unique_name(rebuild_.source().value_name(constant));
    state.role = Role::statistic;
    state.type = value.type();
    state.initial = Initial::of(value);
    return graph.state(std::move(state));
  }

  void normalize(int index) {
    const Node& node = rebuild_.source().node(index);
    Graph& graph = rebuild_.graph();
    auto op = node.as<BatchNormalization>();
    op.training_mode = training_ ? 1 : 0;
    const Value mean = statistic(node.inputs[mean_port]);
    const Value variance = statistic(node.inputs[variance_port]);
    const Value y = graph.add(op,
                              {rebuild_.mapped(node.inputs[0]), rebuild_.mapped(node.inputs[1]),
                               rebuild_.mapped(node.inputs[2]), mean, variance},
                              options_of(node));
    rebuild_.map({index, 0}, y);
    if (!training_) return;
    graph.set_next(graph.value_name(mean), {y.node, 1});
    graph.set_next(graph.value_name(variance), {y.node, 2});
  }

  Rebuild rebuild_;
  bool training_;
  std::map<Value, int> uses_, statistics_;  // of values: all, and those as mean or variance
};

}  // namespace

Graph with_batch_statistics(const Graph& graph, bool training) {
  return Statistics(graph, training).run();
}

}  // namespace narrowgauge
