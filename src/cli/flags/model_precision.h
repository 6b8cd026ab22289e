// SPDX-License-Identifier: Apache-2.0
// What a network predicts in: by a plan in a file, or as settled from the flags.
#pragma once

#include <span>
#include <string>

#include "cli/flags/run_precision.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

// --plan FILE, as `explain --save-plan` and `train --save-plan` write it.
void add_plan(CLI::App& app, const std::string& help, PrecisionFlags& flags);

// The plan of the flags for a network's predictions. Throws UsageError for flags beside --plan that
// the plan decides, ModelError naming the file for a plan of another network.
PrecisionPlan plan_for(const Model& model, const PrecisionFlags& flags);

// Makes the network predict by the plan, where there is one, or else as settled.
void set_precision(Model& model, const RunPrecision& settled, const PrecisionFlags& flags);
// Sets it for these inputs, by which alone shapes of the model may be known. Throws UsageError
// also for overrides that reach nothing.
void set_precision(Model& model, const RunPrecision& settled, const PrecisionFlags& flags,
                   std::span<const NamedTensor> inputs);

}  // namespace narrowgauge::cli
