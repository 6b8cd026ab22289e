// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "api/kernel_cache.h"
#include "api/model_implementation.h"
#include "compile/compile.h"
#include "narrowgauge/explain.h"
#include "ops/table.h"
#include "precision/apply.h"

namespace narrowgauge {

std::vector<KernelReason> explain_kernels(const Graph& f32_graph, const PrecisionPlan& plan,
                                          const KernelQuestion& question) {
  CompileOptions options;
  options.binding = question.binding;
  if (question.target) {
    options.target = *question.target;
    options.runs = false;
  } else {
    options.kernels = kernel_cache();
  }
  std::vector<KernelReason> kernels;
  for (const PlanStep& step : compile(apply(f32_graph, plan), options).steps)
    if (step.flops > 0)
      kernels.push_back(
          {step.node, step.op, step.math, step.implementation, step.why, step.facts, step.flops});
  return kernels;
}

std::vector<KernelReason> explain_kernels(const Model& model, const KernelQuestion& question) {
  const Model::Implementation& held = ModelAccess::of(model);
  const std::shared_lock together(held.in_use);
  const Graph graph = held.graph(Mode::evaluate);
  return explain_kernels(graph, held.evaluation_plan(graph), question);
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
