// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/model_precision.h"

#include "api/model/model_implementation.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::cli {

void add_plan(CLI::App& app, const std::string& help, PrecisionFlags& flags) {
  add_text(app, {"--plan", "FILE", help}, flags.plan);
}

namespace {

PrecisionPlan read_plan_for(const Graph& graph, const PrecisionFlags& flags) {
  check_plan_alone(flags);
  require(!flags.in_f64, "--plan: decides on every node, --math cannot be added");
  return load_plan(*flags.plan, graph);
}

Graph evaluation_graph(const Model& model, std::span<const NamedTensor> inputs) {
  try {
    return model.graph(Mode::evaluate);
  } catch (const UnknownValueError&) {
    // Shapes are known by the inputs.
  }
  try {
    return ModelAccess::of(model).graph_for(inputs);
  } catch (const UnknownValueError& error) {
    throw UsageError(
        concat("--plan and --override: reach nothing where each node is computed by "
               "itself, as shapes depend on values: ",
               error.what()));
  }
}

}  // namespace

PrecisionPlan plan_for(const Model& model, const PrecisionFlags& flags) {
  return read_plan_for(model.graph(Mode::evaluate), flags);
}

void set_precision(Model& model, const RunPrecision& settled, const PrecisionFlags& flags) {
  if (flags.plan)
    model.set_plan(plan_for(model, flags));
  else
    model.set_precision(settled);
}

void set_precision(Model& model, const RunPrecision& settled, const PrecisionFlags& flags,
                   std::span<const NamedTensor> inputs) {
  if (flags.plan) return model.set_plan(read_plan_for(evaluation_graph(model, inputs), flags));
  model.set_precision(settled);
  if (!settled.overrides.empty()) make_precision_plan(evaluation_graph(model, inputs), settled);
}

}  // namespace narrowgauge::cli
