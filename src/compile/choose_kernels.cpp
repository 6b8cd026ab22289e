// SPDX-License-Identifier: Apache-2.0
#include "compile/choose_kernels.h"

#include "base/threads/parallel.h"
#include "ops/composition/check_offer.h"
#include "ops/table.h"
#include "passes/core/operands.h"

namespace narrowgauge {

namespace {

// What a kernel of the program says is known once its offer is ready.
void make_ready_checked(const Request& request, Offer& offer, bool runs) {
  if (runs) offer.get_ready();
  if (!offer.prepare) check_offer(request, offer);
}

}  // namespace

std::vector<ChosenKernel> choose_kernels(const Graph& graph, const std::set<Value>& read,
                                         const CompileOptions& options) {
  std::vector<ChosenKernel> chosen;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_source(node)) {
      chosen.emplace_back();
      continue;
    }
    const std::vector<Operand> inputs = input_operands(graph, node);
    const std::vector<Operand> outputs = output_operands(graph, i, read);
    const Request request{*node.op,       node.attributes, inputs,    outputs,
                          options.target, node.math,       node.name, options.deterministic};
    chosen.push_back(options.runs ? choose_fastest(request, options.kernels)
                                  : first_to_take(request));
    if (!is_built_in(*node.op)) make_ready_checked(request, chosen.back().offer, options.runs);
  }
  if (options.runs)
    parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t i, std::int64_t) {
      chosen[static_cast<std::size_t>(i)].offer.get_ready();
    });
  return chosen;
}

}  // namespace narrowgauge
