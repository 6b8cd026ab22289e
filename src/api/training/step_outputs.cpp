// SPDX-License-Identifier: Apache-2.0
#include "api/training/step_outputs.h"

namespace narrowgauge {

double output_of(const Graph& graph, std::span<const Tensor> results, std::string_view name) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (graph.outputs()[i].name == name) return results[i].at(0);
  throw InternalError(concat("a training graph without the output '", name, '\''));
}

StepResult step_result_of(const Graph& graph, std::span<const Tensor> results) {
  const auto value = [&](std::string_view name) { return output_of(graph, results, name); };
  StepResult result;
  result.outcome = static_cast<StepOutcome>(static_cast<int>(value("reason")));
  result.scale = value("scale");
  result.norm = value("norm");
  result.learning_rate = value("learning_rate");
  return result;
}

}  // namespace narrowgauge
