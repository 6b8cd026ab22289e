// SPDX-License-Identifier: Apache-2.0
#include "study/hoisted_values.h"

#include <mutex>
#include <shared_mutex>

#include "api/model_implementation.h"
#include "compile/compile.h"
#include "precision/apply.h"

namespace narrowgauge {

namespace {

HoistedValue hoisted_value(const State& state) {
  const Graph& derivation = *state.derivation;
  HoistedValue value{derivation.producer(derivation.outputs()[0].value).full_name(),
                     state.type,
                     {},
                     state.derived_from};
  for (const Node& node : derivation.nodes())
    if (!is_source(node)) value.nodes.push_back(node.full_name());
  return value;
}

}  // namespace

std::vector<HoistedValue> hoisted_values(const Graph& f32_graph, const PrecisionPlan& plan,
                                         const KernelQuestion& question) {
  CompileOptions options;
  options.binding = question.binding;
  if (question.target) options.target = *question.target;
  const Graph compiled = run_pipeline(apply(f32_graph, plan), options);
  std::vector<HoistedValue> values;
  for (const State& state : compiled.states())
    if (state.role == Role::derived && state.next == state.current)
      values.push_back(hoisted_value(state));
  return values;
}

std::vector<HoistedValue> hoisted_values(const Model& model, const KernelQuestion& question) {
  const Model::Implementation& held = ModelAccess::of(model);
  const std::shared_lock together(held.in_use);
  const Graph graph = held.graph(Mode::evaluate);
  return hoisted_values(graph, held.evaluation_plan(graph), question);
}

}  // namespace narrowgauge
