// SPDX-License-Identifier: Apache-2.0
#include "compile/choose_recomputed.h"

#include <algorithm>
#include <set>

#include "groups/fused.h"
#include "passes/core/operands.h"
#include "passes/training/recompute.h"

namespace narrowgauge {

namespace {

bool is_view(const Graph& graph, const Node& node) {
  if (node.op->info.fusion != Fusion::view || node.inputs.empty()) return false;
  const ValueInfo& from = graph.info(node.inputs[0]);
  return from.type.dtype == node.outputs[0].type.dtype && from.storage == node.outputs[0].storage;
}

bool is_cheap(const Graph& graph, const Node& node) {
  return node.phase == Phase::forward && !node.inputs.empty() && !is_view(graph, node) &&
         !node.op->region_ports && node.op->info.fusion != Fusion::contraction &&
         flops_of(graph, node) == 0;
}

std::int64_t elements_of(const Graph& graph, Value value) {
  return element_count(known_dims(graph.type(value).shape));
}

// One for each element of the result of a formula, and for each that other nodes read or write.
double operations_of(const Graph& graph, int index) {
  const Node& node = graph.node(index);
  if (node.inputs.empty() || is_view(graph, node)) return 0;
  double count = 0;
  if (node.is<Fused>()) {
    const Graph& body = *node.as<Fused>().body;
    for (int i = 0; i < static_cast<int>(body.nodes().size()); ++i) count += operations_of(body, i);
    return count;
  }
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
    count += static_cast<double>(elements_of(graph, {index, o}));
  if (node.op->elementwise) return count;
  for (const Value& value : node.inputs)
    if (!value.is_absent()) count += static_cast<double>(elements_of(graph, value));
  return count;
}

// A node whose results the backward pass reads, with what must be computed for it.
struct RecomputeCandidate {
  std::set<int> nodes;
  std::int64_t bytes = 0;  // saved
  double operations = 0;
  double worth() const { return static_cast<double>(bytes) / std::max(operations, 1.0); }
};

class Chooser {
 public:
  Chooser(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {
    options_.runs = false;
    options_.kernels = nullptr;
    for (const Node& node : graph.nodes())
      if (node.phase != Phase::forward)
        for (const Value& value : node.inputs)
          if (!value.is_absent()) read_again_.insert(root(value));
    kept_ = read_again_;
    for (const State& state : graph.states()) kept_.insert(root(state.next));
    for (const GraphOutput& output : graph.outputs()) kept_.insert(root(output.value));
  }

  std::vector<std::string> run(std::int64_t most_bytes) {
    std::set<int> chosen;
    std::int64_t bytes = bytes_with(chosen);
    const std::vector<RecomputeCandidate> candidates = find_candidates();
    for (const RecomputeCandidate& candidate : candidates) {
      if (bytes <= most_bytes) break;
      std::set<int> more = chosen;
      more.insert(candidate.nodes.begin(), candidate.nodes.end());
      const std::int64_t less = bytes_with(more);
      if (less >= bytes) continue;
      chosen = std::move(more);
      bytes = less;
    }
    std::vector<std::string> names;
    for (const Node& node : graph_.nodes())
      if (is_among(chosen, node)) names.push_back(node.full_name());
    return names;
  }

 private:
  // The value whose memory a view shows.
  Value root(Value value) const {
    while (is_view(graph_, graph_.producer(value))) value = graph_.producer(value).inputs[0];
    return value;
  }

  std::int64_t bytes_of(Value value) const {
    const ValueInfo& info = graph_.info(value);
    return bytes_for(stored_elements(known_dims(info.type.shape), info.storage), info.type.dtype);
  }

  std::vector<RecomputeCandidate> find_candidates() const {
    std::vector<RecomputeCandidate> all;
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (!is_cheap(graph_, graph_.node(i))) continue;
      RecomputeCandidate candidate;
      for (int o = 0; o < static_cast<int>(graph_.node(i).outputs.size()); ++o)
        if (read_again_.contains({i, o})) candidate.bytes += bytes_of({i, o});
      if (candidate.bytes == 0) continue;
      for (const Value& value : add_chain(i, candidate)) candidate.bytes -= bytes_of(value);
      if (candidate.bytes > 0) all.push_back(std::move(candidate));
    }
    std::ranges::stable_sort(all, [](const RecomputeCandidate& a, const RecomputeCandidate& b) {
      return std::pair(a.worth(), a.bytes) > std::pair(b.worth(), b.bytes);
    });
    return all;
  }

  // Adds a node, and those before it whose results are not kept. Returns results that would have to
  // be kept because they are not cheap.
  std::set<Value> add_chain(int last, RecomputeCandidate& candidate) const {
    std::set<Value> needed;
    std::vector<int> open{last};
    while (!open.empty()) {
      const int index = open.back();
      open.pop_back();
      if (!candidate.nodes.insert(index).second) continue;
      candidate.operations += operations_of(graph_, index);
      for (const Value& input : graph_.node(index).inputs) {
        if (input.is_absent()) continue;
        const Value value = root(input);
        const Node& producer = graph_.producer(value);
        if (producer.inputs.empty() || kept_.contains(value)) continue;
        if (is_cheap(graph_, producer))
          open.push_back(value.node);
        else
          needed.insert(value);
      }
    }
    return needed;
  }

  // Views go with what they show.
  bool is_among(const std::set<int>& chosen, const Node& node) const {
    const auto index = static_cast<int>(&node - graph_.nodes().data());
    return chosen.contains(is_view(graph_, node) ? root({index, 0}).node : index);
  }

  std::int64_t bytes_with(const std::set<int>& chosen) const {
    const Graph again = recompute(graph_, [&](const Node& node) { return is_among(chosen, node); });
    return make_plan(again, options_).value_bytes;
  }

  const Graph& graph_;
  CompileOptions options_;
  std::set<Value> read_again_;  // after the forward pass
  std::set<Value> kept_;        // these, and those that leave the graph
};

}  // namespace

std::vector<std::string> choose_recomputed(const Graph& graph, const CompileOptions& options,
                                           std::int64_t most_bytes) {
  return Chooser(graph, options).run(most_bytes);
}

Recomputation recomputation_of(const Graph& graph) {
  Recomputation what;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const int first = node.instance > 0 ? graph.find_node(node.name) : -1;
    if (first < 0 || graph.node(first).op != node.op || is_view(graph, node)) continue;
    what.nodes.push_back(node.name);
    what.operations += operations_of(graph, i);
  }
  return what;
}

}  // namespace narrowgauge
