// SPDX-License-Identifier: Apache-2.0
#include "passes/training/batch_statistics.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/indexed_vector.h"
#include "ops/index/expand.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/cast_like.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

constexpr std::size_t mean_port = 3, variance_port = 4;
constexpr int first_batch_output = 3;

bool may_change_nothing(const Node& node) {
  return node.is<Identity>() || node.is<Cast>() || node.is<CastLike>() || node.is<Expand>();
}

// Where a vector comes from, past the casts and expansions that exporters write without need.
Value origin_of(const Graph& graph, Value value) {
  while (may_change_nothing(graph.producer(value))) {
    const Value before = graph.producer(value).inputs[0];
    if (graph.type(before) != graph.type(value)) break;
    value = before;
  }
  return value;
}

// The value with which a mean or variance begins; nullptr where it is computed from inputs.
const Tensor* stored_value(const Graph& graph, Value value) {
  const Node& node = graph.producer(value);
  if (!node.is<StateValue>()) return graph.constant_value(value);
  const State& state = *graph.find_state(node.name);
  return state.role == Role::statistic ? &state.initial.data : nullptr;
}

class Statistics {
 public:
  Statistics(const Graph& source, bool training)
      : rebuild_(source), training_(training), is_data_(source.nodes().size()) {
    for (const Node& node : source.nodes())
      for (const Value input : node.inputs) ++uses_[input];
    for (const GraphOutput& output : source.outputs()) ++uses_[output.value];
    for (int i = 0; i < is_data_.size(); ++i) {
      const Node& node = source.node(i);
      is_data_[i] = node.is<Input>() || std::ranges::any_of(node.inputs, [&](Value input) {
                      return !input.is_absent() && is_data_[input.node];
                    });
      if (!is_changed(i)) continue;
      for (const std::size_t port : {mean_port, variance_port}) {
        ++direct_[source.node(i).inputs[port]];
        ++normalizations_[origin_of(source, source.node(i).inputs[port])];
      }
    }
  }

  Graph run() {
    const Graph& source = rebuild_.source();
    for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
      if (is_changed(i))
        normalize(i);
      else if (!becomes_state(i))
        rebuild_.copy(i);
    }
    Graph graph = rebuild_.finish();
    for (const auto& [state, next] : next_) graph.set_next(state, next);
    return graph;
  }

 private:
  // A constant that only normalizations read goes, and leaves its name to a state.
  bool becomes_state(int index) {
    const Value value{index, 0};
    return rebuild_.source().constant_value(value) && direct_[value] > 0 &&
           direct_[value] == uses_[value];
  }

  // A normalization by stored statistics. That of a weight has no batch, and one whose batch
  // statistics are read, as gradients do, needs them always: these stay as they are.
  bool is_changed(int index) const {
    const Graph& source = rebuild_.source();
    const Node& node = source.node(index);
    if (!node.is<BatchNormalization>() || !is_data_[node.inputs[0].node]) return false;
    for (int o = first_batch_output; o < static_cast<int>(node.outputs.size()); ++o)
      if (uses_.contains({index, o})) return false;
    return stored_value(source, origin_of(source, node.inputs[mean_port])) &&
           stored_value(source, origin_of(source, node.inputs[variance_port]));
  }

  // A state of its own, as a file may give one variance to several normalizations: each then has
  // running averages of its own. A state that serves this one alone serves it on.
  Value statistic(Value origin) {
    const Graph& source = rebuild_.source();
    Graph& graph = rebuild_.graph();
    if (source.producer(origin).is<StateValue>() && normalizations_[origin] == 1)
      return rebuild_.mapped(origin);
    const Tensor& value = *stored_value(source, origin);
    State state;
    state.name = source.value_name(origin);
    if (!becomes_state(origin.node) || graph.find_state(state.name))
      state.name = graph.unique_name(state.name);
    state.role = Role::statistic;
    state.type = value.type();
    state.initial = Initial::of(value);
    return graph.state(std::move(state));
  }

  void normalize(int index) {
    const Graph& source = rebuild_.source();
    const Node& node = source.node(index);
    Graph& graph = rebuild_.graph();
    auto op = node.as<BatchNormalization>();
    op.training_mode = training_ ? 1 : 0;
    const Value mean = statistic(origin_of(source, node.inputs[mean_port]));
    const Value variance = statistic(origin_of(source, node.inputs[variance_port]));
    const Values inputs{rebuild_.mapped(node.inputs[0]), rebuild_.mapped(node.inputs[1]),
                        rebuild_.mapped(node.inputs[2]), mean, variance};
    NodeOptions options = options_of(node);
    options.storages.clear();  // training has more outputs
    const Value y = graph.add(op, inputs, std::move(options));
    // Without training the statistics stay as they are.
    const Values outputs =
        training_ ? Values{y, {y.node, 1}, {y.node, 2}} : Values{y, mean, variance};
    for (int o = 0; o < std::min<int>(first_batch_output, static_cast<int>(node.outputs.size()));
         ++o)
      rebuild_.map({index, o}, outputs[static_cast<std::size_t>(o)]);
    if (!training_) return;
    next_.emplace_back(graph.value_name(mean), Value{y.node, 1});
    next_.emplace_back(graph.value_name(variance), Value{y.node, 2});
  }

  Rebuild rebuild_;
  bool training_;
  IndexedVector<int, bool> is_data_;     // nodes that depend on an input
  std::map<Value, int> uses_;            // of values, by all nodes and outputs
  std::map<Value, int> direct_;          // as a mean or variance, as it stands
  std::map<Value, int> normalizations_;  // the same, also past casts and expansions
  std::vector<std::pair<std::string, Value>> next_;
};

}  // namespace

Graph with_batch_statistics(const Graph& graph, bool training) {
  return Statistics(graph, training).run();
}

}  // namespace narrowgauge
