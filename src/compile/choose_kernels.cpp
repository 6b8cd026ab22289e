// SPDX-License-Identifier: Apache-2.0
#include "compile/choose_kernels.h"

#include "base/parallel.h"
#include "passes/operands.h"

namespace narrowgauge {

namespace {

// Constants, and the states that the graph leaves as they are, counters aside.
std::set<Value> lasting_values(const Graph& graph) {
  std::set<Value> values;
  for (const State& state : graph.states()) {
    const bool is_weight = state.role == Role::parameter || state.role == Role::statistic ||
                           state.role == Role::derived;
    if (is_weight && state.next == state.current) values.insert(state.current);
  }
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (graph.constant_value({i, 0})) values.insert({i, 0});
  return values;
}

}  // namespace

std::vector<ChosenKernel> choose_kernels(const Graph& graph, const std::set<Value>& read,
                                         const CompileOptions& options) {
  std::vector<ChosenKernel> chosen;
  const std::set<Value> lasting = lasting_values(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_source(node)) {
      chosen.emplace_back();
      continue;
    }
    std::vector<Operand> inputs = input_operands(graph, node);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      inputs[k].lasts = lasting.contains(node.inputs[k]);
    const std::vector<Operand> outputs = output_operands(graph, i, read);
    const Request request{*node.op,       node.attributes, inputs,    outputs,
                          options.target, node.math,       node.name, options.deterministic};
    chosen.push_back(options.runs ? choose_fastest(request, options.kernels)
                                  : first_to_take(request));
  }
  if (options.runs)
    parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t i, std::int64_t) {
      chosen[static_cast<std::size_t>(i)].offer.get_ready();
    });
  return chosen;
}

}  // namespace narrowgauge
