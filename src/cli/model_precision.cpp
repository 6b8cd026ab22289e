// SPDX-License-Identifier: Apache-2.0
#include "cli/model_precision.h"

namespace narrowgauge::cli {

void add_plan(CLI::App& app, const std::string& help, PrecisionFlags& flags) {
  add_text(app, {"--plan", "FILE", help}, flags.plan);
}

PrecisionPlan plan_for(const Model& model, const PrecisionFlags& flags) {
  check_plan_alone(flags);
  require(!flags.in_f64, "--plan: decides on every node, --math cannot be added");
  return load_plan(*flags.plan, model.graph(Mode::evaluate));
}

void set_precision(Model& model, const RunPrecision& settled, const PrecisionFlags& flags) {
  if (flags.plan)
    model.set_plan(plan_for(model, flags));
  else
    model.set_precision(settled);
}

}  // namespace narrowgauge::cli
