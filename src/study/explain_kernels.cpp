// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "api/model/model_implementation.h"
#include "api/programs/kernel_cache.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "precision/apply.h"
#include "study/explain_compiled.h"

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

CompiledExplanation explain_compiled(const Graph& f32_graph, const PrecisionPlan& plan,
                                     const KernelQuestion& question) {
  CompileOptions options;
  options.binding = question.binding;
  if (question.target) {
    options.target = *question.target;
    options.runs = false;
  } else {
    options.kernels = kernel_cache();
  }
  const Plan compiled = compile(apply(f32_graph, plan), options);
  CompiledExplanation explanation;
  for (const PlanStep& step : compiled.steps)
    if (step.flops > 0)
      explanation.kernels.push_back(
          {step.node, step.op, step.math, step.implementation, step.why, step.facts, step.flops});
  for (const State& state : compiled.graph.states())
    if (state.role == Role::derived && state.next == state.current)
      explanation.hoisted.push_back(hoisted_value(state));
  return explanation;
}

CompiledExplanation explain_compiled(const Model& model, const KernelQuestion& question) {
  const Model::Implementation& held = ModelAccess::of(model);
  const std::shared_lock together(held.in_use);
  const Graph graph = held.graph(Mode::evaluate);
  return explain_compiled(graph, held.evaluation_plan(graph), question);
}

std::vector<KernelReason> explain_kernels(const Graph& f32_graph, const PrecisionPlan& plan,
                                          const KernelQuestion& question) {
  return explain_compiled(f32_graph, plan, question).kernels;
}

std::vector<KernelReason> explain_kernels(const Model& model, const KernelQuestion& question) {
  return explain_compiled(model, question).kernels;
}

std::vector<KernelReason> explain_kernels(const Trainer& trainer, const KernelQuestion& question) {
  return explain_kernels(trainer.graph(), trainer.plan(), question);
}

std::vector<OpClasses> op_classes() {
  std::vector<OpClasses> classes;
  for (const OpRecord* op : op_table().all())
    classes.push_back({op->full_name(), std::string(op->info.inputs), std::string(op->info.outputs),
                       op->info.precision.f16, op->info.precision.bf16});
  std::ranges::sort(classes, {}, &OpClasses::op);
  return classes;
}

}  // namespace narrowgauge
