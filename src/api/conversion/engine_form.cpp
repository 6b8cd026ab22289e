// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/engine_form.h"

#include "quantize/byte_values.h"

namespace narrowgauge {

ConvertedOp converted_op(const Node& node, std::string_view precision, std::string_view why) {
  return {node.full_name(), node.op->full_name(), std::string(precision), std::string(why), {}};
}

std::string computes_in(const Graph& graph, int node) {
  if (reads_bytes(graph, node)) return std::string(name(EnginePrecision::int8));
  return concat(graph.type(graph.node(node).input(0)).dtype);
}

EngineAccuracy FormBudget::accuracy(const Graph& graph) const {
  return validation_ ? validation_->of(graph) : EngineAccuracy{};
}

bool FormBudget::holds(const EngineAccuracy& accuracy) const {
  ConversionReport report;
  if (validation_) report.before = validation_->before();
  report.after = accuracy;
  report.max_drop = max_drop_;
  return report.within_budget();
}

EngineForm FormBudget::fastest(std::vector<EngineForm> forms) const {
  for (std::size_t i = forms.size(); i-- > 1;)
    if (!holds(forms[i].accuracy)) forms.erase(forms.begin() + static_cast<std::ptrdiff_t>(i));
  if (forms.size() == 1) return std::move(forms[0]);
  std::vector<const Graph*> graphs;
  for (const EngineForm& form : forms) graphs.push_back(&form.graph);
  const std::vector<double> times = validation_->milliseconds(graphs);
  constexpr double clearly = 0.98;  // two measurements of the same differ by as much
  std::size_t best = 0;
  for (std::size_t i = 1; i < forms.size(); ++i)
    if (times[i] < (best == 0 ? clearly * times[0] : times[best])) best = i;
  return std::move(forms[best]);
}

}  // namespace narrowgauge
