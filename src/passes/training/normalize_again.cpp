// SPDX-License-Identifier: Apache-2.0
#include "passes/training/normalize_again.h"

#include <algorithm>
#include <map>

#include "ir/readers.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "passes/core/rebuild.h"
#include "passes/fusion/form_groups.h"

namespace narrowgauge {

namespace {

// Nodes of the graph; relu is -1 if there is none.
struct Normalized {
  int norm, relu;
  std::vector<int> readers;  // of the backward pass
};

bool takes_again(const Node& reader, Value value) {
  const bool fits = reader.is<ConvWeightGradient>() || reader.is<ReluGradient>();
  return fits && reader.inputs[0] == value && !(reader.inputs[1] == value);
}

std::vector<Normalized> find_normalized(const Graph& graph) {
  const Readers all_readers(graph);
  std::vector<Normalized> all;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (!node.is<BatchNormalization>() || !node.as<BatchNormalization>().training_mode) continue;
    Normalized one{i, all_readers.only({i, 0}), {}};
    if (one.relu >= 0 && !graph.node(one.relu).is<Relu>()) one.relu = -1;
    const Value value{one.relu < 0 ? i : one.relu, 0};
    if (all_readers.leaves(value)) continue;
    bool all_fit = true;
    for (const int reader : all_readers.of(value)) {
      if (graph.node(reader).phase == Phase::forward) continue;
      one.readers.push_back(reader);
      all_fit = all_fit && takes_again(graph.node(reader), value);
    }
    if (all_fit && !one.readers.empty()) all.push_back(std::move(one));
  }
  return all;
}

// The graph in which each reader has its input normalized again just for it, and the readers in it.
class Renewed {
 public:
  Renewed(const Graph& graph, const std::vector<Normalized>& all) : rebuild_(graph) {
    std::map<int, const Normalized*> read;
    for (const Normalized& one : all)
      for (const int reader : one.readers) read[reader] = &one;
    for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
      const auto found = read.find(i);
      if (found == read.end()) {
        rebuild_.copy(i);
        continue;
      }
      Values inputs = rebuild_.mapped(graph.node(i).inputs);
      inputs[0] = again(*found->second);
      rebuild_.copy(i, graph.node(i).attributes, std::move(inputs));
      reader_[i] = rebuild_.mapped({i, 0}).node;
    }
  }

  Graph finish() { return rebuild_.finish(); }
  int reader(int old) const { return reader_.at(old); }

 private:
  NodeOptions options_of(int index) {
    const Node& node = rebuild_.source().node(index);
    NodeOptions options = narrowgauge::options_of(node);
    options.instance = ++instances_[index];
    options.origin = node.full_name();
    options.phase = Phase::backward;
    options.storages.resize(1);
    return options;
  }

  Value again(const Normalized& one) {
    const Values& inputs = rebuild_.source().node(one.norm).inputs;
    const auto made = [&](int output) { return rebuild_.mapped({one.norm, output}); };
    const Value value = rebuild_.graph().add(
        NormalizeAgain{},
        {rebuild_.mapped(inputs[0]), rebuild_.mapped(inputs[1]), made(5), made(3), made(4)},
        options_of(one.norm));
    return one.relu < 0 ? value : rebuild_.graph().add(Relu{}, {value}, options_of(one.relu));
  }

  Rebuild rebuild_;
  std::map<int, int> instances_, reader_;
};

}  // namespace

Graph normalize_again(const Graph& graph, const Target& target) {
  std::vector<Normalized> all = find_normalized(graph);
  if (all.empty()) return graph;
  Renewed tried(graph, all);
  const Graph trial = tried.finish();
  const Groups groups = find_groups(trial, target);
  const auto computes_it_in_registers = [&](int reader) {
    const int node = tried.reader(reader), group = groups.group_of(node);
    return group >= 0 && group == groups.group_of(trial.node(node).inputs[0].node);
  };
  std::erase_if(all, [&](const Normalized& one) {
    return !std::all_of(one.readers.begin(), one.readers.end(), computes_it_in_registers);
  });
  return Renewed(graph, all).finish();
}

}  // namespace narrowgauge
